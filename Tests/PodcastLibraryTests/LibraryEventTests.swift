import PodcastLibrary
import PodcastProtocol
import Testing
import Transfers

struct LibraryEventTests {
    private var (folder, library) = makeLibrary()

    private func keep(_ sequence: Int64, time: Int64 = 1_000_000) throws {
        try library.store(Event(sequence: sequence, time: time, .idle))
    }

    @Test func sequenceNumbersAreReservedOnce() throws {
        let first = try library.reserveSequences(10)
        let second = try library.reserveSequences(5)
        #expect(first == 1..<11 && second == 11..<16)
        let again = try Library.openForWriting(at: folder.library)
        #expect(try again.reserveSequences(1) == 16..<17)
    }

    @Test func eventsAfterANumberAreReturnedInOrder() throws {
        for sequence in [3, 1, 2] as [Int64] { try keep(sequence) }
        #expect(try library.events(since: 0).map(\.sequence) == [1, 2, 3])
        #expect(try library.events(since: 2).map(\.sequence) == [3])
        #expect(try library.events(since: 3).isEmpty)
    }

    @Test func theOldestEventsAreDeletedAboveTheLimit() throws {
        for sequence in 1...1_003 as ClosedRange<Int64> { try keep(sequence) }
        let kept = try library.events(since: 0)
        #expect(kept.count == Library.maxStoredEvents)
        #expect(kept.first?.sequence == 4 && kept.last?.sequence == 1_003)
    }

    @Test func eventsAreDeletedAfterAWeek() throws {
        try keep(1, time: 1_000_000)
        try keep(2, time: 1_000_001)
        try keep(3, time: 1_000_001 + Library.eventRetention)
        #expect(try library.events(since: 0).map(\.sequence) == [2, 3])
    }

    @Test func anAcknowledgementNeverGoesBack() throws {
        #expect(try library.acknowledged(session: "a") == 0)
        try library.acknowledge(session: "a", through: 7)
        try library.acknowledge(session: "a", through: 5)
        try library.acknowledge(session: "b", through: 1)
        #expect(try library.acknowledged(session: "a") == 7)
        #expect(try library.acknowledged(session: "b") == 1)
    }

    @Test func aRequestedDownloadIsNoLongerAutomatic() throws {
        let show = try library.subscribe([makeItem("One", url: "https://e.com/1.mp3")]).podcast.id
        let episode = try #require(try library.episodes(of: show).first).id
        #expect(try library.enqueue(episode: episode, session: "", automatic: true, now: 1).automatic)
        #expect(try library.enqueue(episode: episode, session: "", automatic: true, now: 2).automatic)
        let asked = try library.enqueue(episode: episode, session: "podfs", now: 3)
        #expect(!asked.automatic && asked.session == "podfs" && asked.created == 1)
        // A task leaves only the session `""`. Later requests by other sessions do not change its session.
        let again = try library.enqueue(episode: episode, session: "other", automatic: true, now: 4)
        #expect(!again.automatic && again.session == "podfs")
        #expect(try library.downloads(session: "podfs") == [again])
        #expect(try library.episodes(of: show, for: .cancel) == [episode])
        #expect(try library.episodes(of: nil, for: .cancel) == [episode])
        #expect(try library.episodes(of: ShowID(show.rawValue + 1), for: .cancel).isEmpty)
    }
}
