import Foundation
import Glibc
import PodcastLibrary
import TestSupport
import Testing

/// A damaged library file.
@Suite(.timeLimit(.minutes(5))) struct LibraryDamageTests {
    /// The kind of damage.
    enum Damage: String, CaseIterable {
        /// The first 16 KiB of the file are overwritten.
        case overwritten
        /// The file is truncated to a third of its size.
        case cut
        /// The file is empty.
        case emptied

        func apply(to path: String) throws {
            let url = URL(fileURLWithPath: path)
            var data = try Data(contentsOf: url)
            switch self {
            case .overwritten:
                data.replaceSubrange(0..<min(16_384, data.count), with: Data(repeating: 0xA5, count: 16_384))
            case .cut: data = data.prefix(data.count / 3)
            case .emptied: data = Data()
            }
            // Write in place, so that programs that have the file open see the change.
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: data)
            try handle.close()
        }
    }

    /// Returns a show with one cached episode, after mount and daemon have exited normally.
    private static func usedShow() async throws -> MountedShow {
        let show = try await MountedShow()
        try await show.expectWhole(1, MountedShow.content(1))
        #expect(try await show.home.run("unmount", show.mount.mountPoint).exitCode == 0)
        try await show.home.endDaemon(SIGTERM)
        // Replace the library with a copy in a single file without a WAL, as after a checkpoint of SQLite.
        let copy = show.home.library + ".copy"
        try Library.openForReading(at: show.home.library).backup(to: copy)
        for suffix in ["-wal", "-shm"] { unlink(show.home.library + suffix) }
        try #require(rename(copy, show.home.library) == 0)
        #expect(try await show.home.run("list").output.hasPrefix("Example Show: 3 episodes"))
        return show
    }

    @Test(arguments: Damage.allCases) func theShowsOfTheLastBackupAreListed(_ damage: Damage) async throws {
        let show = try await Self.usedShow()
        try damage.apply(to: show.home.library)
        let before = try Data(contentsOf: URL(fileURLWithPath: show.home.library))
        try await show.home.run("mount", show.mount.mountPoint).succeeded()
        let listing = try await ChildProcess.run("ls", ["\(show.mount.mountPoint)/\(MountedShow.show)"])
        #expect(listing.output.split(separator: "\n").count == 5, "\(listing.output)\(listing.error)")
        #expect(try await show.home.run("list").output.hasPrefix("Example Show: 3 episodes"))
        // The damaged file, or a renamed copy, still exists for a repair.
        let files = try FileManager.default.contentsOfDirectory(atPath: show.home.dataDirectory)
        let contents = files.map { try? Data(contentsOf: URL(fileURLWithPath: "\(show.home.dataDirectory)/\($0)")) }
        #expect(damage == .emptied || contents.contains(before), "\(files)")
        // The bytes are right, from the cache or from the server.
        let result = try await show.read(show.path(1))
        #expect(result.standardOutput.count == 300_000 && MountedShow.content(1).matches(result.standardOutput))
    }
}

/// The restoration of a damaged or lost library.
struct DamagedLibraryTests {
    private let show: MountedShow

    init() async throws { show = try await MountedShow(isMounted: false) }

    private func damage() throws {
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: show.home.library + suffix) }
        let garbage = Data(repeating: 0x55, count: 65_536)
        try garbage.write(to: URL(fileURLWithPath: show.home.library))
    }

    private func endDaemon() async throws {
        try await show.home.endDaemon(SIGTERM)
    }

    @Test func aDamagedLibraryIsRestoredFromItsBackupWithAMessage() async throws {
        try await show.home.run("download", "Example Show/2026-01-01 Episode 1.mp3", "--wait").succeeded()
        // When the daemon exits, it makes a backup if one is due.
        try await endDaemon()
        try damage()
        let list = try await show.home.run("list").succeeded()
        #expect(list.output.contains("Example Show"), "\(list.error)")
        #expect(list.error.contains("the library was damaged: it was restored from the backup of"))
        let kept = try FileManager.default.contentsOfDirectory(atPath: show.home.dataDirectory).filter {
            $0.contains(".damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
        #expect(kept.count == 1)
        // The message is printed once.
        #expect(try await show.home.run("list").error.isEmpty)
        // Cached episodes are still cached, and the mount reads them without a request.
        let before = show.requests(1).count
        try await show.remount()
        let read = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(read.standardOutput, at: 0) && read.standardOutput.count == 300_000)
        #expect(show.requests(1).count == before)
    }

    /// The backup suffices, without the list of subscriptions.
    @Test func aLostLibraryIsRestoredFromItsBackupWithAMessage() async throws {
        try await show.home.run("set", "Example Show/2026-01-01 Episode 1.mp3", "played=1").succeeded()
        try await endDaemon()
        for suffix in ["", "-wal", "-shm"] { unlink(show.home.library + suffix) }
        unlink(show.home.dataDirectory + "/subscriptions.opml")
        let list = try await show.home.run("list", "Example Show", "--json")
        #expect(list.error.contains("the library did not exist: it was restored from the backup of"), "\(list.error)")
        #expect(list.output.contains("\"played\":true"), "\(list.output)")
    }

    /// The whole content of a new library is in its write-ahead log until the daemon exits.
    @Test func aDamagedLogDoesNotLoseTheShows() async throws {
        // The list of subscriptions is written a moment after the subscription.
        let copy = show.home.dataDirectory + "/subscriptions.opml"
        try await waitUntil(description: "the list is written") {
            (try? String(contentsOfFile: copy, encoding: .utf8))?.contains("/feed.xml") ?? false
        }
        try await show.home.endDaemon(SIGKILL)
        let path = show.home.library + "-wal"
        var log = try Data(contentsOf: URL(fileURLWithPath: path))
        log[17] ^= 0x40
        try log.write(to: URL(fileURLWithPath: path))
        let list = try await show.home.run("list")
        #expect(list.exitCode == 0 && list.output.contains("Example Show"), "\(list.output)\(list.error)")
        #expect(list.error.contains("the library was damaged"), "\(list.error)")
    }

    @Test func theLibraryIsOneFileAfterTheDaemonHasExited() async throws {
        try await endDaemon()
        let alone = show.home.directory.file("alone.sqlite")
        try FileManager.default.copyItem(atPath: show.home.library, toPath: alone)
        #expect(try Library.openForReading(at: alone).podcasts().map(\.name) == ["Example Show"])
        let backup = try FileManager.default.attributesOfItem(
            atPath: show.home.dataDirectory + "/library.backup.sqlite")
        #expect((backup[.size] as? Int ?? 0) > 0)
        // After a removal of the backup, the next daemon makes a new one when it exits, even if the library has not
        // changed.
        try FileManager.default.removeItem(atPath: show.home.dataDirectory + "/library.backup.sqlite")
        #expect(try await show.home.run("daemon").exitCode == 0)
        try await endDaemon()
        try Library.openForReading(at: show.home.dataDirectory + "/library.backup.sqlite").check()
    }
}
