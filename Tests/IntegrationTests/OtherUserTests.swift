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
        try await show.home.run(["mount"] + options + [show.mount.mountPoint]).succeeded()
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
        let read = try await ChildProcess.runAsNobody("cat", [show.path(1)]).succeeded()
        #expect(read.standardOutput.count == 300_000 && MountedShow.content(1).matches(read.standardOutput))
        #expect(
            try await ChildProcess.runAsNobody("getfattr", ["-d", show.path(1)]).output.contains("user.podfs.state"))
        try await ChildProcess.runAsNobody("cat", ["\(show.mount.mountPoint)/.status"]).succeeded()
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
        try await ChildProcess.run("setfattr", ["-n", "user.podfs.played", "-v", "1", show.path(1)]).succeeded()
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
}
