import Foundation
import PodcastLibrary
import PodcastProtocol
import Synchronization
import Testing
import Transfers

/// Several writes in one transaction.
struct LibraryGroupTests {
    private struct Refusal: Error {}

    private var (folder, library) = makeLibrary()
    private let episodes: [EpisodeID]

    init() throws {
        let items = (1...3).map { makeItem("\($0)", url: "https://e.com/\($0).mp3") }
        episodes = try library.subscribe(items).inserted.sorted()
    }

    private func size(_ number: Int, _ library: Library) throws -> Int64? {
        try library.episode(id: episodes[number - 1])?.confirmedSize
    }

    @Test func aWriteIsVisibleInItsGroupAtOnceAndToReadersAtTheEnd() throws {
        let reader = try Library.openForReading(at: folder.library)
        let before = try reader.changeCounter()
        try library.group {
            try library.confirm(episode: episodes[0], size: 10, now: noon)
            #expect(try size(1, library) == 10)
            #expect(try size(1, reader) == nil)
            try library.confirm(episode: episodes[1], size: 20, now: noon)
            // Reads that consist of several statements see both writes too.
            let podcast = try #require(try library.podcasts().first).id
            #expect(try library.episodes(of: podcast).compactMap(\.confirmedSize).sorted() == [10, 20])
            #expect(try reader.changeCounter() == before)
        }
        #expect(try size(1, reader) == 10 && size(2, reader) == 20)
        #expect(try size(1, library) == 10 && size(2, library) == 20)
    }

    @Test func aFailedWriteRollsBackNoOtherWrite() throws {
        try library.group {
            try library.confirm(episode: episodes[0], size: 10, now: noon)
            #expect(throws: LibraryError.noSuchEpisode(999)) { try library.recordOpening(of: 999, now: noon) }
            #expect(throws: LibraryError.self) {
                try library.complete(episode: episodes[1], generation: 1, size: 5, sha256: "", now: noon)
            }
            try library.confirm(episode: episodes[2], size: 30, now: noon)
        }
        #expect(try size(1, library) == 10 && size(2, library) == nil && size(3, library) == 30)
    }

    @Test func aFailedGroupWritesNothing() throws {
        #expect(throws: Refusal.self) {
            try library.group {
                try library.confirm(episode: episodes[0], size: 10, now: noon)
                try library.group { try library.confirm(episode: episodes[1], size: 10, now: noon) }
                throw Refusal()
            }
        }
        #expect(try size(1, library) == nil && size(2, library) == nil)
        // A nested group is rolled back alone.
        try library.group {
            try library.confirm(episode: episodes[0], size: 11, now: noon)
            #expect(throws: Refusal.self) {
                try library.group {
                    try library.confirm(episode: episodes[1], size: 20, now: noon)
                    throw Refusal()
                }
            }
            #expect(try library.group { try size(1, library) } == 11)
        }
        #expect(try size(1, library) == 11 && size(2, library) == nil)
    }

    @Test func otherThreadsReadTheStateBeforeAGroupAndWriteAfterIt() throws {
        let (library, first) = (library, episodes[0])
        let seen = Mutex<Int64?>(-1)
        let (hasSeen, hasWritten) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try library.group {
            try library.confirm(episode: first, size: 10, now: noon)
            let other = Thread {
                if let episode = try? library.episode(id: first) { seen.withLock { $0 = episode.confirmedSize } }
                hasSeen.signal()
                // Waits until the group has ended.
                try? library.confirm(episode: first, size: 12, now: noon)
                hasWritten.signal()
            }
            other.start()
            #expect(hasSeen.wait(timeout: .now() + 60) == .success)
            #expect(seen.withLock { $0 } == nil)
            try library.confirm(episode: first, size: 11, now: noon)
            #expect(try library.episode(id: first)?.confirmedSize == 11)
        }
        #expect(hasWritten.wait(timeout: .now() + 60) == .success)
        #expect(try library.episode(id: first)?.confirmedSize == 12)
    }

    @Test func aReadOnlyLibraryCannotWrite() throws {
        let reader = try Library.openForReading(at: folder.library)
        #expect(throws: LibraryError.readOnly) { try reader.group {} }
    }
}
