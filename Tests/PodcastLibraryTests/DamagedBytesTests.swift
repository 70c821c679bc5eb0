import Foundation
import PodcastFeed
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastLibrary

/// Tests that a library file with damaged bytes can always be opened, either as it is or from its backup.
struct DamagedBytesTests {
    private let folder: TemporaryFolder
    private let pristine: Data
    private var path: String { folder.library }
    private var backup: String { folder.path + "/data/library.backup.sqlite" }

    /// Creates a library of two shows with settings, renditions, downloads and an event. A checkpoint writes all of it
    /// from SQLite's write-ahead log to the database file, which the tests damage.
    init() throws {
        folder = try TemporaryFolder()
        try Self.fill(folder)
        pristine = try Data(contentsOf: URL(fileURLWithPath: folder.library))
    }

    private static func fill(_ folder: TemporaryFolder) throws {
        let library = try Library.openForWriting(at: folder.library)
        for show in 1...2 {
            let items = (1...12).map { makeItem("Title \($0)", url: "https://e.com/\(show)/\($0).mp3") }
            let id = try library.subscribe(items, url: "https://e.com/\(show)", title: "Show \(show)").podcast.id
            try library.set(podcast: id, key: "keep", value: "all")
            for (number, episode) in try library.episodes(of: id).prefix(3).enumerated() {
                try library.pin(
                    Rendition(episode: episode.id, generation: 1, file: "f\(show)\(number)", size: 9), now: noon)
                _ = try library.enqueue(episode: episode.id, session: "common", now: noon)
            }
        }
        try library.store(Event(sequence: try library.reserveSequences(1).lowerBound, time: noon, .idle))
        try library.backup(to: folder.path + "/data/library.backup.sqlite")
        try library.checkpoint()
    }

    private func write(_ bytes: Data) throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path + "/data")
        where !file.contains("backup") {
            try FileManager.default.removeItem(atPath: folder.path + "/data/" + file)
        }
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    private func open(isSuspect: Bool) throws -> (library: Library, recovery: LibraryRecovery?) {
        try Library.openForWriting(at: path, backup: backup, isSuspect: isSuspect, canRebuild: false, now: 4_711)
    }

    /// Performs the reads and writes of a starting daemon.
    private func use(_ library: Library) throws {
        for podcast in try library.podcasts() { _ = try library.settings(of: podcast.id) }
        _ = try library.renditions()
        _ = try library.downloads()
        _ = try library.uploads()
        _ = try library.syncAccount()
        _ = try library.events(since: 0)
        _ = try library.reserveSequences(1)
    }

    /// Opens and uses the library. Damage that is found only in use terminates the daemon, and the next daemon opens
    /// the library as suspect.
    private func openAndUse() throws -> (library: Library, recovery: LibraryRecovery?) {
        do {
            let opened = try open(isSuspect: false)
            try use(opened.library)
            return opened
        } catch LibraryError.damaged {
            let opened = try open(isSuspect: true)
            #expect(opened.recovery != nil)
            try use(opened.library)
            return opened
        }
    }

    /// Returns every offset of the header, and random offsets in the table declarations and in the other pages.
    private func offsets(_ random: inout SeededGenerator) -> [Int] {
        let page = 4_096
        let header = Array(0..<112)
        let declarations = (0..<60).map { _ in Int.random(in: 112..<min(8 * page, pristine.count), using: &random) }
        let others = (0..<60).map { _ in Int.random(in: page..<pristine.count, using: &random) }
        return header + declarations + others
    }

    @Test func oneDamagedByteDoesNotPreventOpening() throws {
        var random = SeededGenerator(seed: 2)
        var recoveries = 0
        for offset in offsets(&random) {
            var bytes = pristine
            bytes[offset] ^= UInt8.random(in: 1...255, using: &random)
            try write(bytes)
            do {
                let (library, recovery) = try openAndUse()
                if let recovery {
                    recoveries += 1
                    #expect(try library.podcasts().map(\.name) == ["Show 1", "Show 2"])
                    let damaged = try #require(recovery.damaged)
                    #expect(try Data(contentsOf: URL(fileURLWithPath: damaged)) == bytes)
                }
            } catch {
                Issue.record("byte \(offset), \(pristine[offset]) to \(bytes[offset]): \(error)")
            }
        }
        #expect(recoveries > 50)
    }

    /// A suspect library is checked completely, so that no damaged row is left to crash the next daemon.
    @Test func everyRowOfASuspectLibraryIsReadable() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<50 {
            var bytes = pristine
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bytes[Int.random(in: 4_096..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
            }
            try write(bytes)
            let (library, _) = try open(isSuspect: true)
            try use(library)
            for podcast in try library.podcasts() {
                for episode in try library.episodes(of: podcast.id) {
                    _ = try library.episode(id: episode.id)
                    _ = try library.rendition(of: episode.id)
                }
            }
        }
    }
}
