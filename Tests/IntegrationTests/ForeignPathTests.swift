import Foundation
import TestSupport
import Testing

/// Paths with the attributes of a mount, but not in a mount of the command's own library.
struct ForeignPathTests {
    private let show: MountedShow

    init() async throws { show = try await MountedShow(episodes: 3) }

    private func expectRefusals(of path: String, _ commands: [[String]]) async throws {
        for command in commands {
            let result = try await show.home.run(command)
            #expect(result.exitCode == 1, "\(command)")
            #expect(result.error.contains("'\(path)' is not in a mount of this library"), "\(result.error)")
        }
        #expect(try await show.attribute("played", of: show.path(1)) == "0")
        #expect(try await show.attribute("feed.episodes", of: show.mount.mountPoint + "/Example Show") == "3")
    }

    /// The ids of the other library's episodes and shows are the same.
    @Test func theMountOfAnotherLibraryIsRefused() async throws {
        let other = try await MountedShow(episodes: 3)
        let path = other.path(1)
        try await expectRefusals(
            of: path,
            [
                ["set", path, "played=1"], ["evict", path], ["rename", path, "Other"], ["download", path],
                ["player", "report", "--player", "p", "--phase", "paused", "--position", "90", "--", path],
            ])
        let folder = other.mount.mountPoint + "/Example Show"
        try await expectRefusals(of: folder, [["set", folder, "keep=1 episode", "--yes"], ["subscribe", folder]])
        try await show.home.run("set", show.path(2), "played=1").succeeded()
    }

    @Test(.enabled(if: OrdinaryHome.isPossible, OrdinaryHome.requirement))
    func theMountOfAnotherUserIsRefused() async throws {
        let ordinary = try await OrdinaryHome()
        try await ordinary.run(ordinary.program, "mount", ordinary.mount.mountPoint).succeeded()
        let path = ordinary.episode
        for command in [["set", path, "played=1"], ["evict", path], ["rename", path, "Other"]] {
            let result = try await ordinary.runAsRoot([ordinary.program] + command)
            #expect(result.exitCode == 1, "\(command)")
            #expect(
                result.error.contains("'\(path)' is in a mount of user \(OrdinaryHome.user), not yours"),
                "\(result.error)")
        }
    }

    @Test func aFileThatWasCopiedWithItsAttributesIsRefused() async throws {
        let path = try show.home.directory.write("copy.mp3", text: "")
        let id = try #require(try await show.attribute("id", of: show.path(1)))
        try await ChildProcess.run("setfattr", ["-n", "user.podfs.id", "-v", id, path]).succeeded()
        try await expectRefusals(of: path, [["set", path, "played=1"], ["evict", path]])
        let link = show.home.directory.file("link.mp3")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: show.path(2))
        try await show.home.run("set", link, "played=1").succeeded()
        #expect(try await show.attribute("played", of: show.path(2)) == "1")
    }
}
