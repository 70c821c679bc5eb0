import CLinux
import Foundation
import Glibc
import Platform
import TestSupport
import Testing

struct ProcessSpawnerTests {
    /// Runs a shell script, expects the exit status 0, and returns the text that it wrote to standard error.
    private func run(_ script: String, inheriting inheritedDescriptors: [Int32] = [], session: Bool = false) throws
        -> String
    {
        var ends: [Int32] = [-1, -1]
        try #require(clinux_pipe(&ends, O_CLOEXEC) == 0)
        defer { close(ends[0]) }
        var spawner = ProcessSpawner("sh", ["sh", "-c", script], environment: ["A": "b c"])
        spawner.standardError = .descriptor(ends[1])
        spawner.inheritedDescriptors = inheritedDescriptors
        spawner.startsSession = session
        let child = Result { try spawner.start() }
        close(ends[1])
        let output = try #require(readAll(ends[0]))
        #expect(waitForExit(of: try child.get()) == 0)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func onlyTheListedDescriptorsAreInherited() throws {
        // Descriptors without close-on-exec, as some libraries open them. Some may have the numbers 3 and 4, which the
        // spawner assigns to the inherited descriptors.
        let leaked = [Int32](0..<4).map { _ in open("/dev/zero", O_RDONLY) }
        defer { for descriptor in leaked { close(descriptor) } }
        // Lists the shell's descriptors on its standard error. `find` writes to it by `-fprintf`: for a redirection,
        // the shell might open another descriptor, and that would be listed, too. The shell replaces itself with its
        // last command, so `exit 0` follows: otherwise `find` would list its own descriptors.
        let listing = "find /proc/$$/fd -type l -fprintf /dev/stderr '%l\\n'; exit 0"
        let inheritedDescriptors = [open("/etc/passwd", O_RDONLY | O_CLOEXEC), leaked[0]]
        defer { close(inheritedDescriptors[0]) }
        let targets = try run(listing, inheriting: inheritedDescriptors).split(separator: "\n")
        #expect(targets.prefix(2) == ["/dev/null", "/dev/null"])
        #expect(targets.dropFirst(3) == ["/etc/passwd", "/dev/zero"])
        #expect(try run(listing).split(separator: "\n").count == 3)
    }

    @Test func aChildNeitherBlocksNorIgnoresSignals() throws {
        let before = signal(SIGUSR1, SIG_IGN)
        defer { signal(SIGUSR1, before) }
        var (mask, maskBefore) = (sigset_t(), sigset_t())
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR2)
        pthread_sigmask(SIG_BLOCK, &mask, &maskBefore)
        defer { pthread_sigmask(SIG_SETMASK, &maskBefore, nil) }
        // Each signal kills the shell only if it is neither ignored nor blocked.
        for name in ["USR1", "USR2"] {
            let child = try ProcessSpawner("sh", ["sh", "-c", "kill -\(name) $$; exit 0"], environment: [:]).start()
            #expect(waitForExit(of: child) == (name == "USR1" ? SIGUSR1 : SIGUSR2))
        }
    }

    @Test func aChildLeadsASessionOnRequest() throws {
        // The sixth field of /proc/PID/stat is the session (proc_pid_stat(5)).
        let script = "read -r pid name state parent group session rest </proc/$$/stat; echo $((session == pid)) >&2"
        #expect(try run(script, session: true) == "1\n")
        #expect(try run(script) == "0\n")
    }

    @Test func standardErrorIsAppendedToAFile() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/log"
        for word in ["one", "two"] {
            var spawner = ProcessSpawner("/bin/sh", ["sh", "-c", "echo \(word) >&2"], environment: [:])
            spawner.standardError = .file(path)
            #expect(waitForExit(of: try spawner.start()) == 0)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "one\ntwo\n")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
}
