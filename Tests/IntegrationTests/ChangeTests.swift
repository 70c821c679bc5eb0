import Foundation
import Glibc
import TestSupport
import Testing

/// Changes that the daemon makes to a mounted folder after the kernel has cached it. The kernel may cache names and
/// attributes for a day, so podfs must invalidate them.
@Suite(.timeLimit(.minutes(5))) struct ChangeTests {
    /// Mounts a show and makes the kernel cache its folders and files.
    private static func listed() async throws -> MountedShow {
        let show = try await MountedShow()
        try await walk(show)
        return show
    }

    private static func walk(_ show: MountedShow) async throws {
        try await ChildProcess.run("find", [show.mount.mountPoint, "-ls"]).succeeded()
    }

    private static func names(_ folder: String) async throws -> [String] {
        try await ChildProcess.run("ls", [folder]).output.split(separator: "\n").map(String.init)
    }

    /// Returns one field of stat(1); empty if the file does not exist.
    private static func stat(_ field: String, _ path: String) async throws -> String {
        let output = try await ChildProcess.run("stat", ["-L", "-c", "%" + field, path]).output
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func aNewEpisodeAppearsInTheFolder() async throws {
        let show = try await Self.listed()
        // This failed lookup must not hide the episode later.
        #expect(try await Self.stat("s", show.path(4)).isEmpty)
        show.server.serve("/4.mp3", MountedShow.resource(4))
        show.server.serveShow(MountedShow.show, episodes: 4, length: 300_000)
        try await show.home.run("refresh").succeeded()
        try await waitUntil(description: "the episode is listed") {
            try await Self.names("\(show.mount.mountPoint)/\(MountedShow.show)").contains("2026-01-04 Episode 4.mp3")
        }
        #expect(try await Self.stat("s", show.path(4)) == "300000")
        try await waitUntil(description: "the episode is in Latest") {
            try await Self.names("\(show.mount.mountPoint)/Latest").contains { $0.contains("Episode 4 ") }
        }
        let playlist = try await show.read("\(show.mount.mountPoint)/\(MountedShow.show)/playlist.m3u8").output
        #expect(playlist.contains("\n2026-01-04 Episode 4.mp3\n"), "\(playlist)")
    }

    @Test func aDownloadAndAnEvictionUpdateFileAndLink() async throws {
        let show = try await Self.listed()
        let link = "\(show.mount.mountPoint)/Downloaded/2026-01-02 Episode 2 - \(MountedShow.show).mp3"
        #expect(try await Self.stat("b", show.path(2)) == "1")
        try await show.home.run("download", "--wait", show.path(2)).succeeded()
        try await waitUntil(description: "file and link have the downloaded size") {
            // 300,000 bytes are 585.9 blocks of 512.
            let (file, followed) = (try await Self.stat("b", show.path(2)), try await Self.stat("b", link))
            return file == "586" && followed == "586"
        }
        #expect(try await show.attribute("state", of: show.path(2)) == "cached")
        #expect(try await Self.names("\(show.mount.mountPoint)/Downloaded").count == 3)
        try await Self.walk(show)
        try await show.home.run("evict", show.path(2)).succeeded()
        try await waitUntil(description: "the file is not cached and the link is gone") {
            let (file, followed) = (try await Self.stat("b", show.path(2)), try await Self.stat("b", link))
            return file == "1" && followed.isEmpty
        }
        #expect(try await show.attribute("state", of: show.path(2)) == "remote")
        #expect(try await Self.names("\(show.mount.mountPoint)/Downloaded") == ["index.html", "playlist.m3u8"])
    }

    @Test func aRenameAndAnUnsubscriptionUpdateTheFolder() async throws {
        let show = try await Self.listed()
        try await show.home.run("rename", MountedShow.show, "Another Name").succeeded()
        try await waitUntil(description: "the folder has its new name") {
            let names = try await Self.names(show.mount.mountPoint)
            return names.contains("Another Name") && !names.contains(MountedShow.show)
        }
        try await waitUntil(description: "the old path no longer exists") {
            try await Self.stat("s", show.path(1)).isEmpty
        }
        let link = "\(show.mount.mountPoint)/Latest/2026-01-03 Episode 3 - Another Name.mp3"
        try await waitUntil(description: "the links have other names") {
            try await ChildProcess.run("readlink", [link]).output == "../Another Name/2026-01-03 Episode 3.mp3\n"
        }
        try await Self.walk(show)
        try await show.home.run("unsubscribe", "Another Name").succeeded()
        try await waitUntil(description: "the folder is no longer listed") {
            try await !Self.names(show.mount.mountPoint).contains("Another Name")
        }
        try await waitUntil(description: "its path no longer exists") {
            try await Self.stat("s", "\(show.mount.mountPoint)/Another Name").isEmpty
        }
    }

    /// The length in the feed changes repeatedly, while the file on the server stays the same.
    @Test func anOpenReportsTheTrueSizeDespiteLaterFeedChanges() async throws {
        let show = try await MountedShow(episodes: 1, length: 200_000)
        // A change of the access time would invalidate the attributes too. The access time has whole seconds, and
        // several rounds fit into one second, so some rounds do not change it.
        for round in 1...8 {
            try await ChildProcess.run(
                "perl", ["-e", "open(my $file, '<', $ARGV[0]) or die $!; print -s $file", show.path(1)]
            ).printed("300000")
            let claim = 100_000 + round
            show.server.serveShow(MountedShow.show, episodes: 1, length: claim)
            try await show.home.run("refresh").succeeded()
            try await waitUntil(description: "the size is the feed's") {
                try await Self.stat("s", show.path(1)) == "\(claim)"
            }
        }
        try await show.expectWhole(1, MountedShow.content(1))
    }

    @Test func openingAndClosingAFileUpdateItsAccessTime() async throws {
        let begin = Int(time(nil))
        let show = try await Self.listed()
        func accessed() async throws -> Int { try #require(Int(try await Self.stat("X", show.path(1)))) }
        // Before the first open, the access time is the publication time.
        #expect(try await accessed() == Int(try await Self.stat("Y", show.path(1))))
        try await show.expectWhole(1, MountedShow.content(1))
        var last = try await accessed()
        #expect(last >= begin)
        // The whole file is in the page cache, so no read reaches podfs: only the open and the close can change the
        // access time. It has whole seconds, so the test waits for the next second before each.
        try await waitUntil(description: "a second passes") { Int(time(nil)) > last }
        let reader = try await OpenFileReader(show.path(1))
        #expect(try await accessed() > last)
        last = try await accessed()
        try await waitUntil(description: "a second passes") { Int(time(nil)) > last }
        try await reader.end()
        try await waitUntil(description: "the access time has changed") { try await accessed() > last }
        _ = try await show.home.run("unmount", show.mount.mountPoint)
        try await show.remount()
        // After a remount, the access time is read from the library.
        #expect(try await accessed() >= begin)
    }
}
