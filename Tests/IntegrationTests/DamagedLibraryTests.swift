import Foundation
import Glibc
import PodcastLibrary
import TestSupport
import Testing

struct DamagedLibraryTests {
    private let show: MountedShow

    init() async throws { show = try await MountedShow(isMounted: false) }

    private func damage() throws {
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: show.home.library + suffix) }
        let garbage = Data(repeating: 0x55, count: 65_536)
        try garbage.write(to: URL(fileURLWithPath: show.home.library))
    }

    private func endDaemon() async throws {
        show.home.killDaemon(SIGTERM)
        try await show.home.waitUntilDaemonHasEnded()
    }

    @Test func aDamagedLibraryIsRestoredFromItsBackupWithAMessage() async throws {
        let downloaded = try await show.home.run("download", "Example Show/2026-01-01 Episode 1.mp3", "--wait")
        #expect(downloaded.exitCode == 0, "\(downloaded.error)")
        // When the daemon exits, it makes a backup if one is due.
        try await endDaemon()
        try damage()
        let list = try await show.home.run("list")
        #expect(list.exitCode == 0)
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

    /// The file with the list of subscriptions could restore the show as well, but not which episodes were played. The
    /// latter shows that the library was restored from its backup.
    @Test func aLostLibraryIsRestoredFromItsBackupWithAMessage() async throws {
        let marked = try await show.home.run("set", "Example Show/2026-01-01 Episode 1.mp3", "played=1")
        #expect(marked.exitCode == 0, "\(marked.error)")
        try await endDaemon()
        for suffix in ["", "-wal", "-shm"] { unlink(show.home.library + suffix) }
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
        show.home.killDaemon(SIGKILL)
        try await show.home.waitUntilDaemonHasEnded()
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
