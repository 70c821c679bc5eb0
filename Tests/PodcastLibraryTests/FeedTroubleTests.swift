import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

struct FeedTroubleTests {
    private var record = FeedTroubleRecord()

    @Test(
        arguments: [
            (FeedSign.ended, FeedTrouble.gone, 0), (.missing, .gone, day), (.refused, .unauthorised, 0),
            (.untrusted, .certificate, day), (.emptied, .empty, 30 * day), (.unreachable, .unreachable, 7 * day),
        ] as [(FeedSign, FeedTrouble, Int64)])
    mutating func aTroubleIsAnnouncedOnceWhenItHasLasted(_ sign: FeedSign, _ trouble: FeedTrouble, _ patience: Int64) {
        for hour in stride(from: Int64(0), to: patience, by: 3_600) {
            record.observe(sign, at: noon + hour)
            #expect(record.announce(at: noon + hour) == nil && record.announced == nil)
        }
        record.observe(sign, at: noon + patience)
        #expect(record.announce(at: noon + patience) == trouble)
        #expect(record.announced == trouble)
        for later in [1, day, 40 * day] {
            record.observe(sign, at: noon + patience + later)
            #expect(record.announce(at: noon + patience + later) == nil)
        }
        #expect(record.announced == trouble)
    }

    @Test mutating func otherFailuresChangeNothing() {
        record.observe(.missing, at: noon)
        record.observe(.failed, at: noon + 5)
        #expect(record.announce(at: noon + day) == .gone)
        record.observe(.failed, at: noon + day + 5)
        #expect(record.announced == .gone)
        record.observe(.unchanged, at: noon + day + 9)
        #expect(record.announced == nil)
    }

    @Test mutating func anotherTroubleIsAnnouncedToo() {
        record.observe(.refused, at: noon)
        #expect(record.announce(at: noon) == .unauthorised)
        record.observe(.missing, at: noon + 1)
        #expect(record.announced == nil)
        record.observe(.ended, at: noon + 2)
        #expect(record.announce(at: noon + 2) == .gone)
    }

    @Test mutating func aServerThatIsAwayDoesNotHideAnotherTrouble() {
        record.observe(.refused, at: noon)
        #expect(record.announce(at: noon) == .unauthorised)
        record.observe(.unreachable, at: noon + 1)
        #expect(record.announced == .unauthorised)
        record.observe(.refused, at: noon + 9 * day)
        #expect(record.announce(at: noon + 9 * day) == nil)
    }

    @Test mutating func aClockThatWasAheadDelaysNothing() {
        record.observe(.missing, at: noon + 400 * day)
        record.observe(.missing, at: noon)
        #expect(record.announce(at: noon + day) == .gone)
    }
}

/// The troubles of the feeds in a library.
struct LibraryTroubleTests {
    private var (folder, library) = makeLibrary()
    private let show: ShowID

    init() throws {
        show =
            try library.subscribe([
                makeItem("One", url: "https://e.com/1.mp3", length: 1_000_000),
                makeItem("Two", url: "https://e.com/2.mp3", length: 2_000_000),
                makeItem("Live", url: "https://e.com/3.m3u8", type: "application/x-mpegURL"),
            ]).podcast.id
    }

    @discardableResult
    private func fail(_ sign: FeedSign, _ status: Int? = nil, now: Int64) throws -> FeedTrouble? {
        try library.refreshFailed(
            podcast: show, status: status, sign: sign, error: "failed", next: nil, now: now)
    }

    private func announced(now: Int64) throws -> [FeedTrouble] {
        try library.announceTroubles(now: now).map {
            #expect($0.show == show)
            return $0.trouble
        }
    }

    @Test func aTroubleIsAnnouncedOnceAlsoAfterARestart() throws {
        try fail(.refused, 401, now: noon + 10)
        #expect(try library.podcast(id: show)?.trouble.announced == nil)
        #expect(try announced(now: noon + 10) == [.unauthorised])
        try fail(.refused, 401, now: noon + 20)
        #expect(try announced(now: noon + 20) == [])
        let other = try Library.openForReading(at: folder.library)
        #expect(try other.podcast(id: show)?.trouble.announced == .unauthorised)
        #expect(try other.podcasts().first?.trouble.announced == .unauthorised)
    }

    @Test func anUnreachableServerIsAnnouncedOnlyByAFailure() throws {
        try fail(.unreachable, now: noon)
        // No attempt of a week later, or one without a network, says that the server is still away.
        #expect(try announced(now: noon + 8 * day) == [])
        try fail(.failed, now: noon + 8 * day)
        #expect(try announced(now: noon + 8 * day) == [])
        #expect(try fail(.unreachable, now: noon + 8 * day) == .unreachable)
        #expect(try library.podcast(id: show)?.trouble.announced == .unreachable)
        #expect(try fail(.unreachable, now: noon + 9 * day) == nil)
        _ = try library.merge([makeItem("One", url: "https://e.com/1.mp3")], into: show, now: noon + 10 * day)
        #expect(try fail(.unreachable, now: noon + 20 * day) == nil)
    }

    @Test func aMergeEndsIt() throws {
        try fail(.refused, 401, now: noon + 10)
        #expect(try announced(now: noon + 10) == [.unauthorised])
        _ = try library.merge([makeItem("One", url: "https://e.com/1.mp3")], into: show, now: noon + 30)
        #expect(try library.podcast(id: show)?.trouble == FeedTroubleRecord())
        #expect(try library.podcast(id: show)?.changed == noon + 30)
    }

    @Test func anUnchangedFeedEndsItUnlessItIsEmpty() throws {
        let response = FeedResponse(finalURL: feedURL, status: 304)
        try fail(.untrusted, now: noon + 10)
        _ = try library.recordUnchanged([(podcast: show, response: response)], now: noon + 20)
        #expect(try library.podcast(id: show)?.trouble == FeedTroubleRecord())

        _ = try library.merge([], into: show, now: noon + 30)
        _ = try library.recordUnchanged([(podcast: show, response: response)], now: noon + 20 * day)
        #expect(try announced(now: noon + 20 * day) == [])
        _ = try library.recordUnchanged([(podcast: show, response: response)], now: noon + 31 * day)
        #expect(try announced(now: noon + 31 * day) == [.empty])
    }

    @Test func aShowThatNeverHadEpisodesIsNotEmptied() throws {
        let other = try library.subscribe([], url: "https://e.com/new", title: "New").podcast.id
        _ = try library.merge([], into: other, now: noon + 30)
        #expect(try library.podcast(id: other)?.trouble == FeedTroubleRecord())
        #expect(try library.announceTroubles(now: noon + 60 * day).isEmpty)
    }

    @Test func unsavedEpisodesAreThoseWithoutACompleteFile() throws {
        #expect(try library.unsavedEpisodes(of: show) == UnsavedEpisodes(count: 2, bytes: 3_000_000))
        let one = try #require(try library.entries(of: show).first { $0.name.contains("One") })
        try library.pin(
            Rendition(episode: one.id, generation: 1, file: "ab", size: 1_000_000, received: 5), now: noon)
        #expect(try library.unsavedEpisodes(of: show).count == 2)
        try library.complete(episode: one.id, generation: 1, size: 1_000_000, sha256: "", now: noon)
        #expect(try library.unsavedEpisodes(of: show) == UnsavedEpisodes(count: 1, bytes: 2_000_000))
    }
}
