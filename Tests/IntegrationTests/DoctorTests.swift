import Foundation
import Glibc
import Platform
import TestSupport
import Testing

@testable import podfs

/// The problems that `podfs doctor` detects, each caused by a test.
@Suite(.timeLimit(.minutes(5))) struct DoctorTests {
    private struct Line: Decodable {
        var check: String
        var status: String
        var message: String
        var remedy: String?
    }

    private let home: PodfsHome

    init() throws { home = try PodfsHome() }

    /// Runs `podfs doctor --json` and returns its findings. Checks the exit code, and that each finding has a remedy
    /// unless its status is "ok".
    ///
    /// - Parameter prelude: A shell command that runs in a new mount namespace, before podfs runs in the same one.
    private func examine(
        _ home: PodfsHome? = nil, arguments: [String] = [], environment: [String: String] = [:], prelude: String? = nil
    ) async throws -> [Line] {
        let home = home ?? self.home
        let variables = home.environment.merging(environment) { $1 }
        let inside = prelude.map { ["--mount", "sh", "-c", "\($0) && exec \"$0\" \"$@\""] } ?? []
        let words = [PodfsHome.executable, "doctor", "--json"] + arguments
        // Without options, unshare(1) only runs the program.
        let result = try await ChildProcess.run("unshare", inside + words, environment: variables)
        let lines = try JSONDecoder().decode([Line].self, from: Data(result.standardOutput))
        #expect(result.exitCode == (lines.contains { $0.status == "problem" } ? 1 : 0), "\(result.error)")
        for line in lines { #expect((line.remedy != nil) == (line.status != "ok"), "\(line)") }
        return lines
    }

    private func expect(
        _ lines: [Line], _ check: String, _ status: String, _ message: String, remedy: String? = nil,
        _ place: SourceLocation = #_sourceLocation
    ) {
        let found = lines.filter { $0.check == check }
        #expect(
            found.contains { line in
                line.status == status && line.message.contains(message)
                    && (remedy.map { line.remedy?.contains($0) == true } ?? true)
            }, "\(message): \(found)", sourceLocation: place)
    }

    /// Stops a process by SIGSTOP and waits until all its threads have stopped. After kill(2) has returned, the threads
    /// continue to run until one of them receives the signal.
    private func stop(_ process: Int32) async throws {
        kill(process, SIGSTOP)
        try await waitUntil(description: "process \(process) has stopped") {
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
            return try threads.allSatisfy { thread in
                // proc_pid_stat(5): the state follows the name in parentheses.
                let stat = try String(contentsOfFile: "/proc/\(process)/task/\(thread)/stat", encoding: .utf8)
                return stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].hasPrefix(") T")
            }
        }
    }

    @Test func aNewInstallationHasNoProblem() async throws {
        let lines = try await examine()
        // Other tests have mounts too.
        let found = lines.filter { $0.status != "ok" && $0.check != "mounts" }
        #expect(found.isEmpty, "\(found)")
        expect(lines, "library", "ok", "there is none yet")
        expect(lines, "cache", "ok", "podfs evict PATH")
        expect(lines, "daemon", "ok", "not running")
        expect(lines, "catalogue", "ok", "not checked")
        // No file was created and no process started.
        #expect(!FileManager.default.fileExists(atPath: home.dataDirectory))
        #expect(home.daemonProcessIdentifier == nil)
        let text = try await home.run("doctor")
        #expect(text.output.contains("ok       library: there is none yet"))
        #expect(!text.output.contains("\u{1B}"))
    }

    @Test func aUsedInstallationHasNoProblem() async throws {
        let show = try await MountedShow()
        try await waitUntil(description: "the list is written") {
            try await examine(show.home).contains { $0.check == "subscriptions" && $0.message.hasPrefix("1 in ") }
        }
        let lines = try await examine(show.home)
        expect(lines, "daemon", "ok", "version \(Podfs.version)")
        expect(lines, "library", "ok", "1 show, sound")
        expect(lines, "subscriptions", "ok", "1 in ")
        expect(lines, "mounts", "ok", show.mount.mountPoint)
        #expect(show.home.daemonProcessIdentifier != nil)
    }

    // MARK: The network

    @Test(.enabled(if: geteuid() == 0, "only root can mount over /etc/ssl/certs")) func missingAuthoritiesAreAProblem()
        async throws
    {
        let prelude = "mount -t tmpfs none /etc/ssl/certs"
        let lines = try await examine(prelude: prelude)
        expect(
            lines, "certificates", "problem", "/etc/ssl/certs", remedy: "install the package ca-certificates")
        // `subscribe`, the first command of a new user, reports the missing CA certificates too. The test server needs
        // no TLS, because podfs fails before the server responds.
        let server = HTTPTestServer()
        try server.start()
        let address = server.url("/feed.xml").replacing("http://", with: "https://")
        try await ChildProcess.run(
            "unshare",
            ["--mount", "sh", "-c", "\(prelude) && exec \"$0\" \"$@\"", PodfsHome.executable, "subscribe", address],
            environment: home.environment
        ).failed(says: "install the package ca-certificates")
    }

    // MARK: The system

    @Test(.enabled(if: geteuid() == 0, "only root can mount over it")) func anUnusableDeviceIsAProblem() async throws {
        let missing = try await examine(prelude: "mount -t tmpfs none /dev")
        expect(missing, "/dev/fuse", "problem", "is missing", remedy: "modprobe fuse")
        let closed = try await examine(
            prelude: "mount -t tmpfs -o nodev none /mnt && mknod /mnt/fuse c 10 229 "
                + "&& mount --bind /mnt/fuse /dev/fuse")
        expect(closed, "/dev/fuse", "problem", "cannot be opened", remedy: "10:229")
    }

    @Test func aHelperWithoutPrivilegeIsReported() async throws {
        let status = geteuid() == 0 ? "warning" : "problem"
        try home.directory.makeDirectory("bin")
        try home.directory.writeProgram("bin/fusermount3", text: "#!/bin/sh\n")
        let without = try await examine(environment: ["PATH": home.directory.file("bin")])
        expect(without, "fusermount3", status, "is not set-user-id root", remedy: "chmod u+s")
        let none = try await examine(environment: ["PATH": home.directory.file("home")])
        expect(none, "fusermount3", status, "is not in PATH", remedy: "install the package fuse3")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount over it")) func accessByOtherUsersIsReported() async throws
    {
        let file = try home.directory.write("fuse.conf", text: "# x\r\n user_allow_other \r\n")
        let set = try await examine(prelude: "mount --bind \(file) /etc/fuse.conf")
        expect(set, "/etc/fuse.conf", "ok", "user_allow_other is set")
        try home.directory.write("fuse.conf", text: "#user_allow_other\n")
        let unset = try await examine(prelude: "mount --bind \(file) /etc/fuse.conf")
        expect(unset, "/etc/fuse.conf", "ok", "is not set")
    }

    @Test func aMountWhoseProcessHangsOrHasDiedIsAProblemAndDetachedOnlyByForce() async throws {
        let show = try await MountedShow(episodes: 1)
        let process = try await show.mountProcess()
        try await stop(process)
        defer { kill(process, SIGKILL) }
        let path = show.mount.mountPoint
        let hanging = try await examine(show.home)
        expect(hanging, "mounts", "problem", "\(path) does not answer", remedy: "podfs unmount --force")
        let folder = try show.home.directory.makeDirectory("it's") + "/../mnt"
        try await show.home.run("unmount", folder).failed(
            says: "does not answer", "podfs unmount --force \(ShellQuoting.quoted(folder))")
        #expect(show.mount.isMounted)
        // A shell's completion of a folder's name appends a slash.
        try await show.home.run("unmount", "--force", path + "/").succeeded()
        #expect(!show.mount.isMounted)
        try await show.remount()
        kill(try await show.mountProcess(), SIGKILL)
        try await waitUntil(description: "the mount is dead") {
            try await examine(show.home).contains {
                $0.check == "mounts" && $0.status == "problem" && $0.message.contains(path)
                    && $0.message.contains("has died") && $0.remedy?.contains("podfs unmount") == true
            }
        }
    }

    @Test func aHangingMountOfAnotherProgramDoesNotBlockTheChecks() async throws {
        // With another subtype, only the mount itself could say that podfs mounted it, and its answer may never come.
        let show = try await MountedShow(episodes: 1, isMounted: false)
        try await show.home.run("mount", "-o", "subtype=other", show.mount.mountPoint).succeeded()
        // It is not asked although it would answer.
        let lines = try await examine(show.home)
        #expect(!lines.contains { $0.message.contains(show.mount.mountPoint) })
    }

    // MARK: The installation

    @Test func unsafeOrUnusableFoldersAreReported() async throws {
        let show = try await MountedShow(isMounted: false)
        let data = show.home.dataDirectory
        let passwords = try show.home.directory.write("data/podfs/upload-credentials.json", text: "{}")
        for (path, mode, usual, status, message) in [
            (data, 0o777, 0o700, "problem", "writable"), (data, 0o755, 0o700, "warning", "readable"),
            (show.home.library, 0o644, 0o600, "problem", "readable"), (passwords, 0o644, 0o600, "problem", "readable"),
        ] as [(String, mode_t, mode_t, String, String)] {
            chmod(path, mode)
            expect(
                try await examine(show.home), "folders", status, "\(path) is \(message) by other users",
                remedy: "chmod \(String(usual, radix: 8))")
            chmod(path, usual)
        }
        if geteuid() == 0 {
            expect(
                try await examine(
                    show.home, prelude: "mount --bind \(data) \(data) && mount -o remount,ro,bind \(data)"),
                "folders", "problem", "cannot be written: Read-only file system", remedy: "remount")
            chown(show.home.stateDirectory, 12_345, 0)
            expect(
                try await examine(show.home), "folders", "problem", "belongs to user 12345", remedy: "chown -R")
        }
        let other = try PodfsHome()
        try other.directory.write("cache/podfs", text: "in the way")
        expect(try await examine(other), "folders", "problem", "is not a folder")
        let file = other.directory.file("cache/podfs")
        expect(
            try await examine(other, environment: ["XDG_DATA_HOME": file + "/x"]), "folders", "problem",
            "\(file)/x/podfs cannot be created: \(file): Not a directory")
        let link = other.directory.file("link")
        symlink("/none", link)
        for path in [link, link + "/below"] {
            let findings = try await examine(other, environment: ["XDG_DATA_HOME": path, "XDG_CACHE_HOME": path])
            expect(
                findings, "folders", "problem", "cannot be created: \(link): No such file or directory",
                remedy: "\(link) is a symbolic link: mount the disk")
            expect(findings, "cache", "problem", "\(link): ", remedy: "check whether its disk is mounted")
        }
    }

    @Test func mistakesInTheConfigurationAreNamed() async throws {
        try home.configure("[cache]\nlimt = \"1 GiB\"\n")
        expect(
            try await examine(), "configuration", "problem",
            "config.toml:2: unknown key \"cache.limt\"; did you mean \"cache.limit\"?", remedy: "podfs.conf(5)")
        try home.configure("[cache]\nlimit = \"2 GiB\"\n")
        expect(try await examine(), "configuration", "ok", "config.toml")
    }

    @Test func damageOfLibraryBackupAndListIsDistinguished() async throws {
        let show = try await MountedShow(isMounted: false)
        let home = show.home
        try await home.endDaemon(SIGTERM)
        expect(try await examine(home), "backup", "ok", "sound")
        let backup = home.dataDirectory + "/library.backup.sqlite"
        let sound = try Data(contentsOf: URL(fileURLWithPath: backup))
        func damage(_ path: String) throws {
            // Remove the write-ahead log, since SQLite would read undamaged pages from it.
            for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
            // Damage the tables, not the first page.
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.seek(toOffset: 4096)
            try handle.write(contentsOf: Data(repeating: 0x5A, count: 200_000))
            try handle.close()
        }
        try damage(backup)
        expect(try await examine(home), "backup", "warning", "is damaged", remedy: "remove it")
        unlink(backup)
        mkdir(backup, 0o700)
        expect(try await examine(home), "backup", "warning", "cannot be used", remedy: "make the file readable")
        rmdir(backup)
        expect(try await examine(home), "backup", "warning", "there is none")
        let list = home.dataDirectory + "/subscriptions.opml"
        let subscriptions = try Data(contentsOf: URL(fileURLWithPath: list))
        try Data("no list".utf8).write(to: URL(fileURLWithPath: list))
        expect(try await examine(home), "subscriptions", "warning", "is damaged")
        unlink(list)
        expect(try await examine(home), "subscriptions", "warning", "does not exist")
        try home.directory.write("data/podfs/credentials.json", text: "{")
        expect(try await examine(home), "credentials", "problem", "is damaged", remedy: "subscribe again")
        // The bytes of the backup are a whole library in one file, without a log.
        try sound.write(to: URL(fileURLWithPath: home.library))
        try damage(home.library)
        expect(try await examine(home), "library", "problem", "is damaged", remedy: "there is no backup")
        try subscriptions.write(to: URL(fileURLWithPath: list))
        expect(try await examine(home), "library", "problem", "is damaged", remedy: "subscribes again")
        try sound.write(to: URL(fileURLWithPath: backup))
        expect(try await examine(home), "library", "problem", "is damaged", remedy: "restores the backup of")
        unlink(home.library)
        expect(
            try await examine(home), "library", "warning", "does not exist", remedy: "restores the backup of")
        unlink(backup)
        expect(
            try await examine(home), "library", "warning", "does not exist", remedy: "subscribes again to the 1 show")
    }

    @Test func aFullCacheIsReportedWithAWayToFreeSpace() async throws {
        try home.configure("[cache]\nkeep_free = \"900 TiB\"\n")
        expect(try await examine(), "cache", "problem", "must stay free", remedy: "free space on the disk")
        let show = try await MountedShow(episodes: 1, isMounted: false)
        let home = show.home
        try await home.run("set", MountedShow.show, "pinned=all").succeeded()
        try await home.run("download", "--wait", MountedShow.show).succeeded()
        try home.configure("[cache]\nlimit = \"10 kB\"\nkeep_free = 0\n")
        expect(
            try await examine(home), "cache", "problem", "more than cache.limit",
            remedy: "podfs set EPISODE pinned=false")
        try home.configure("[cache]\nkeep_free = \"900 TiB\"\n")
        expect(try await examine(home), "cache", "warning", "must stay free", remedy: "podfs evict PATH")
    }

    /// `cache.limit` is for episodes: art and checkpoints are not evicted for it.
    @Test func onlyEpisodesCountAgainstTheLimit() async throws {
        let show = try await MountedShow(episodes: 1, isMounted: false)
        try show.home.configure("[cache]\nlimit = \"10 kB\"\nkeep_free = 0\n")
        try show.home.directory.makeDirectory("cache/podfs/assets")
        try show.home.directory.write("cache/podfs/assets/art", [UInt8](repeating: 1, count: 100_000))
        expect(try await examine(show.home), "cache", "ok", "0 B of ")
    }

    // MARK: The daemon

    @Test func aFileInPlaceOfTheSocketAndASilentDaemonAreProblems() async throws {
        try home.directory.makeDirectory("it's/podfs")
        let file = try home.directory.write("it's/podfs/daemon.sock", text: "")
        let lines = try await examine(environment: ["XDG_RUNTIME_DIR": home.directory.file("it's")])
        expect(lines, "socket", "problem", "is not a socket", remedy: "rm \(ShellQuoting.quoted(file))")
        // A stopped daemon is a problem; the socket that a killed daemon leaves behind is not.
        let show = try await MountedShow(isMounted: false)
        let pid = try #require(show.home.daemonProcessIdentifier)
        try await stop(pid)
        let stopped = try await examine(show.home)
        kill(pid, SIGCONT)
        expect(
            stopped, "daemon", "problem", "process \(pid) does not answer", remedy: "kill -9 \(pid)")
        try await show.home.endDaemon()
        expect(try await examine(show.home), "daemon", "ok", "not running")
        #expect(FileManager.default.fileExists(atPath: show.home.socket))
    }

    @Test func aDaemonOfAnotherEnvironmentIsAProblem() async throws {
        let show = try await MountedShow(isMounted: false)
        let lines = try await examine(
            show.home, environment: ["XDG_DATA_HOME": try show.home.directory.makeDirectory("other")])
        expect(lines, "daemon", "problem", "serves \(show.home.library)", remedy: "XDG_RUNTIME_DIR")
        // The daemon was not asked to exit.
        #expect(show.home.daemonProcessIdentifier != nil)
    }

    @Test func theCatalogueIsQueriedOnlyOnDemand() async throws {
        let server = HTTPTestServer()
        try server.start()
        server.serve("/search", Resource(text: "{\"resultCount\":0,\"results\":[]}", contentType: "application/json"))
        try home.configure("[search.itunes]\nurl = \"\(server.url("/search"))\"\n")
        _ = try await examine()
        #expect(server.requests(for: "/search").isEmpty)
        expect(try await examine(arguments: ["--online"]), "catalogue", "ok", "answers")
        #expect(server.requests(for: "/search").count == 1)
        let other = try PodfsHome()
        try other.configure("[search.itunes]\nurl = \"\(server.url("/absent"))\"\n")
        expect(
            try await examine(other, arguments: ["--online"]), "catalogue", "problem", "404",
            remedy: "search.itunes.url")
    }
}
