import Foundation
import Glibc
import TestSupport
import Testing

/// Access of other users to a mount.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: ChildProcess.canRunAsNobody, "needs root and runuser, to run programs as another user"))
struct OtherUserTests {
    private static func show(_ options: [String] = []) async throws -> MountedShow {
        let show = try await MountedShow(isMounted: false)
        chmod(show.home.directory.path, 0o711)
        let mounted = try await show.home.run(["mount"] + options + [show.mount.mountPoint])
        try #require(mounted.exitCode == 0, "\(mounted.error)")
        return show
    }

    @Test func withoutAllowOtherOtherUsersHaveNoAccess() async throws {
        let show = try await Self.show()
        for arguments in [["ls", show.mount.mountPoint], ["stat", show.path(1)], ["cat", show.path(1)]] {
            let result = try await ChildProcess.runAsNobody(arguments[0], Array(arguments.dropFirst()))
            #expect(result.says(EACCES), "\(arguments[0]): \(result.output)\(result.error)")
        }
        #expect(show.requests(1).isEmpty)
    }

    @Test(arguments: [["--allow-other"], ["-o", "allow_other"]])
    func withAllowOtherOtherUsersRead(_ options: [String]) async throws {
        let show = try await Self.show(options)
        let owner = "\(getuid()) \(getgid())\n"
        for path in [show.mount.mountPoint, show.path(1), "\(show.mount.mountPoint)/.status"] {
            let seen = try await ChildProcess.runAsNobody("stat", ["-c", "%u %g", path])
            #expect(seen.output == owner, "\(seen.error)")
        }
        let tree = try await ChildProcess.runAsNobody("find", [show.mount.mountPoint, "-ls"])
        #expect(tree.exitCode == 0 && tree.error.isEmpty, "\(tree.error)")
        let read = try await ChildProcess.runAsNobody("cat", [show.path(1)])
        #expect(read.exitCode == 0, "\(read.error)")
        #expect(read.standardOutput.count == 300_000 && MountedShow.content(1).matches(read.standardOutput))
        #expect(
            try await ChildProcess.runAsNobody("getfattr", ["-d", show.path(1)]).output.contains("user.podfs.state"))
        let status = try await ChildProcess.runAsNobody("cat", ["\(show.mount.mountPoint)/.status"])
        #expect(status.exitCode == 0, "\(status.error)")
    }

    @Test func otherUsersCannotControlOrModifyAnything() async throws {
        let show = try await Self.show(["--allow-other"])
        _ = try await show.read(show.path(1))
        try await show.waitForState("cached", of: show.path(1))
        let requests = show.server.requests.count
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        let orders = [
            ("user.podfs.task", "evict", show.path(1)), ("user.podfs.task", "pin", show.path(1)),
            ("user.podfs.task", "resume", show.path(2)), ("user.podfs.task", "refresh", folder),
            ("user.podfs.task", "resume", show.mount.mountPoint), ("user.podfs.played", "1", show.path(1)),
            ("user.podfs.position", "5", show.path(1)), ("user.podfs.task", "nonsense", show.path(1)),
        ]
        for (name, value, path) in orders {
            let result = try await ChildProcess.runAsNobody("setfattr", ["-n", name, "-v", value, path])
            #expect(result.says(EPERM), "\(name) \(value): \(result.error)")
        }
        let foreign = try await ChildProcess.runAsNobody("setfattr", ["-n", "user.other", "-v", "1", show.path(1)])
        #expect(foreign.says(EROFS), "\(foreign.error)")
        for arguments in [["rm", "-f", show.path(1)], ["touch", "\(folder)/new"], ["chmod", "777", show.path(1)]] {
            let result = try await ChildProcess.runAsNobody(arguments[0], Array(arguments.dropFirst()))
            #expect(result.exitCode != 0, "\(arguments)")
        }
        #expect(try await show.attribute("state", of: show.path(1)) == "cached")
        #expect(try await show.attribute("played", of: show.path(1)) == "0")
        #expect(try await show.attribute("position", of: show.path(1)) == nil)
        #expect(show.server.requests.count == requests)
        // The owner can set attributes.
        let own = try await ChildProcess.run("setfattr", ["-n", "user.podfs.played", "-v", "1", show.path(1)])
        #expect(own.exitCode == 0, "\(own.error)")
        #expect(try await show.attribute("played", of: show.path(1)) == "1")
    }

    @Test func onlyTheOwnerCanReadTheFeed() async throws {
        let show = try await Self.show(["--allow-other"])
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        for name in [".feed.xml.txt", ".feed.json"] {
            let refused = try await ChildProcess.runAsNobody("cat", ["\(folder)/\(name)"])
            #expect(refused.says(EACCES), "\(refused.output)")
            #expect(try await ChildProcess.runAsNobody("test", ["-r", "\(folder)/\(name)"]).exitCode == 1)
            #expect(try await ChildProcess.run("test", ["-r", "\(folder)/\(name)"]).exitCode == 0)
        }
        #expect(try await ChildProcess.runAsNobody("test", ["-r", "\(folder)/playlist.m3u8"]).exitCode == 0)
    }

    @Test func anIndexerOfAnotherUserIsRecognized() async throws {
        let show = try await Self.show(["--allow-other"])
        let indexer = try show.home.directory.copyProgram("/bin/cat", as: "bin/tracker-extract")
        let refused = try await ChildProcess.runAsNobody(indexer, [show.path(1)])
        #expect(refused.says(EACCES), "\(refused.output)\(refused.error)")
        #expect(show.requests(1).isEmpty)
    }

    /// The mount belongs to an ordinary user, who cannot read the executable of root's processes. The indexer is a
    /// Python script that runs as root, and its read comes from a thread with another name.
    @Test(.enabled(if: OrdinaryHome.isPossible && python != nil, "needs root and python3"))
    func aScriptOfRootIsRecognizedInAThreadWithAnotherName() async throws {
        let ordinary = try await OrdinaryHome()
        let folder = try TemporaryDirectory()
        let configured = try await ordinary.runAsRoot(
            ["mount", "--bind", try folder.write("fuse.conf", text: "user_allow_other\n"), "/etc/fuse.conf"])
        try #require(configured.exitCode == 0, "\(configured.error)")
        let mounted = try await ordinary.run(
            ordinary.program, "mount", "--allow-other", ordinary.mount.mountPoint)
        try #require(mounted.exitCode == 0, "\(mounted.error)")
        let script = """
            import ctypes, sys, threading
            def read():
                ctypes.CDLL(None).prctl(15, b"worker", 0, 0, 0)
                try: print(len(open(sys.argv[1], "rb").read(1)))
                except OSError as error: print(error.errno)
            thread = threading.Thread(target=read); thread.start(); thread.join()
            """
        let python = try #require(Self.python)
        func read(by script: String) async throws -> String {
            try await ordinary.runAsRoot([python, script, ordinary.episode]).output
        }
        #expect(try await read(by: try folder.write("tracker-extract", text: script)) == "\(EACCES)\n")
        #expect(ordinary.server.requests(for: "/1.mp3").isEmpty)
        #expect(try await read(by: try folder.write("player", text: script)) == "1\n")
    }

    private static let python = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}
