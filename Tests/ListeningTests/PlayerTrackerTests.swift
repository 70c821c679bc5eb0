import Platform
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastService

/// Players' signals and answers, and the reports that follow from them. Times and positions are in seconds.
@Suite struct PlayerTrackerTests {
    private static let vlc = PlayerID(":1.7")
    private static let url = "file:///mnt/Show/a.mp3"

    private struct Room {
        var tracker = PlayerTracker()
        var now: Double = 100
        var effects: [PlayerTracker.Effect] = []

        mutating func send(_ input: PlayerTracker.Input, after seconds: Double = 0) {
            now += seconds
            effects = tracker.handle(input, at: .milliseconds(Int64(now * 1_000)))
        }

        /// The phase and position of each report that the last input has caused.
        var reports: [String] {
            effects.compactMap {
                if case .report(_, _, let report) = $0 { "\(report.phase) \(report.position)" } else { nil }
            }
        }

        /// Opens an episode, and announces a player whose track is that episode, at the given position.
        mutating func start(at position: Double = 0, status: PlayerStatus = .playing) {
            send(.opened(1))
            send(.appeared(vlc, name: "vlc", process: 42))
            #expect(effects == [.read(vlc)])
            send(
                .changed(
                    vlc,
                    PlayerProperties(
                        track: PlayerTrack(url: url, id: "/t/1", length: 1_000), status: status, rate: 1,
                        position: position, canSeek: true)))
            #expect(effects == [.locate(vlc, url: url, process: 42)])
            send(.located(vlc, url: url, 1))
        }
    }

    @Test func aPauseIsReportedAtThePlayersPosition() {
        var room = Room()
        room.start()
        room.send(.changed(Self.vlc, PlayerProperties(status: .paused)), after: 7)
        #expect(room.effects == [.readPosition(Self.vlc)])
        room.send(.position(Self.vlc, 6.8))
        #expect(room.reports == ["paused 6.8"])
        #expect(room.tracker.deadline == nil, "a paused player is not polled")
        room.send(.changed(Self.vlc, PlayerProperties(status: .playing)), after: 3_600)
        room.send(.position(Self.vlc, 6.8))
        #expect(room.reports == ["playing 6.8"])
    }

    @Test func aKilledPlayersPositionIsExtrapolated() {
        var room = Room()
        room.start(at: 20)
        room.send(.changed(Self.vlc, PlayerProperties(rate: 2)), after: 5)
        room.send(.disappeared(Self.vlc), after: 4)
        #expect(room.reports == ["stopped 33.0"])
        #expect(room.tracker.deadline == nil)
    }

    @Test func aStoppedPlayersPositionIsExtrapolated() {
        var room = Room()
        room.start(at: 990)
        room.send(.changed(Self.vlc, PlayerProperties(status: .stopped, position: 0)), after: 60)
        #expect(room.reports == ["stopped 1000.0"])
        room.send(.changed(Self.vlc, PlayerProperties(status: .playing)))
        #expect(room.effects == [.readPosition(Self.vlc)])
        room.send(.position(Self.vlc, 0))
        #expect(room.reports == ["started 0.0"])
    }

    @Test func aLostBusEndsAllSessions() {
        var room = Room()
        room.start(at: 10)
        room.send(.disconnected, after: 3)
        #expect(room.reports == ["stopped 13.0"])
        #expect(room.tracker.deadline == nil)
    }

    @Test func theNextTrackEndsThePreviousOne() {
        var room = Room()
        room.start(at: 10)
        let next = PlayerTrack(url: "file:///mnt/Show/b.mp3", id: "/t/2")
        room.send(.changed(Self.vlc, PlayerProperties(track: next)), after: 5)
        #expect(room.reports == ["stopped 15.0"])
        #expect(room.effects.last == .locate(Self.vlc, url: "file:///mnt/Show/b.mp3", process: 42))
        room.send(.opened(2))
        room.send(.located(Self.vlc, url: Self.url, 1))
        #expect(room.effects.isEmpty, "this answer is about the previous track")
        room.send(.located(Self.vlc, url: "file:///mnt/Show/b.mp3", 2))
        #expect(room.effects == [.readPosition(Self.vlc)])
        room.send(.position(Self.vlc, 0.2))
        #expect(room.reports == ["started 0.2"])
    }

    @Test func aSeekIsReportedAfterThePlaybackBeforeIt() {
        var room = Room()
        room.start()
        room.send(.seeked(Self.vlc, 0.1))
        #expect(room.reports.isEmpty, "some players announce a seek at the start")
        room.send(.seeked(Self.vlc, 500), after: 8)
        #expect(room.reports == ["playing 8.1", "seeked 500.0"])
        // A user holds down the player's seek key. These seeks are not reported one by one: one second after the last
        // report, the position at that time is reported.
        for number in 1...40 { room.send(.seeked(Self.vlc, Double(500 + 5 * number)), after: 0.01) }
        #expect(room.reports.isEmpty)
        room.send(.tick, after: 1)
        #expect(room.reports == ["seeked 701.0"])
    }

    /// While a player waits for bytes, its position falls behind the estimate.
    @Test(arguments: [false, true]) func aPauseOfAPlayerThatWaitedForBytesIsNoSeek(changesRate: Bool) {
        var room = Room()
        room.start()
        room.send(.position(Self.vlc, 20), after: 20)
        if changesRate { room.send(.changed(Self.vlc, PlayerProperties(rate: 1.5)), after: 4) }
        room.send(.changed(Self.vlc, PlayerProperties(status: .paused)), after: 4)
        room.send(.position(Self.vlc, 21))
        #expect(room.reports == ["paused 21.0"])
        // A position before the last reading is still a seek.
        room.send(.changed(Self.vlc, PlayerProperties(status: .playing)))
        room.send(.position(Self.vlc, 10), after: 1)
        #expect(room.reports == ["seeked 10.0"])
    }

    // MARK: Trust

    @Test(arguments: [false, true]) func anEpisodeCountsOnlyOnceItIsOpen(isOpened: Bool) {
        var room = Room()
        room.send(.appeared(Self.vlc, name: "vlc", process: nil))
        room.send(
            .changed(
                Self.vlc, PlayerProperties(track: PlayerTrack(url: Self.url), status: .playing, position: 900)))
        room.send(.located(Self.vlc, url: Self.url, 1))
        #expect(room.effects.isEmpty)
        if isOpened {
            room.send(.opened(1))
            #expect(room.reports == ["started 900.0"])
        } else {
            room.send(.disappeared(Self.vlc))
            #expect(room.effects.isEmpty)
        }
    }

    @Test func impossibleNumbersAreIgnored() {
        var room = Room()
        room.start(at: 10)
        for wrong in [Double.nan, .infinity, -.infinity, 1e300] {
            room.send(.seeked(Self.vlc, wrong))
            #expect(room.effects.isEmpty)
            room.send(.changed(Self.vlc, PlayerProperties(rate: wrong)))
            #expect(room.effects.isEmpty)
            room.send(.changed(Self.vlc, PlayerProperties(position: wrong)))
            #expect(room.effects.isEmpty)
        }
        room.send(.position(Self.vlc, -50))
        #expect(room.reports == ["seeked 0.0"])
        room.send(
            .changed(
                Self.vlc, PlayerProperties(track: PlayerTrack(url: Self.url, id: "/t/1", length: .infinity))))
        room.send(.changed(Self.vlc, PlayerProperties(status: .stopped)), after: 1)
        guard case .report(_, _, let last)? = room.effects.last else {
            Issue.record("\(room.effects)")
            return
        }
        #expect(last.phase == .stopped && last.duration == nil)
    }

    /// The effect `seek` contains the position that the player has before the seek. The driver converts it to an
    /// `Int64` of microseconds, which would trap for a position such as -1e300 s.
    @Test func anImpossiblePositionIsNotTheStartOfASeek() {
        var room = Room()
        room.start(status: .paused)
        room.send(.answered(Self.vlc, session: 1, resume: 497))
        room.send(.changed(Self.vlc, PlayerProperties(position: -1e300)), after: 0.3)
        #expect(!isSeek(room.effects))
        room.send(.changed(Self.vlc, PlayerProperties(position: -3)))
        #expect(room.effects == [.seek(Self.vlc, track: "/t/1", to: 497, from: 0)])
    }

    @Test func aFloodOfSignalsIsThrottled() throws {
        var room = Room()
        room.start(at: 10)
        var effects = 0
        for number in 0..<10_000 {
            room.send(.seeked(Self.vlc, Double(number % 1_000)), after: 0.000_1)
            effects += room.effects.count
        }
        #expect(effects <= 4)
        room.send(.tick, after: 5)
        #expect(room.effects.contains(.read(Self.vlc)))
        // The signals of a second player are still processed.
        let mpv = PlayerID(":1.8")
        room.send(.appeared(mpv, name: "mpv", process: 1))
        room.send(
            .changed(mpv, PlayerProperties(track: PlayerTrack(url: Self.url), status: .playing, position: 0)))
        room.send(.located(mpv, url: Self.url, 1))
        #expect(room.reports == ["started 0.0"])
    }

    @Test func manyPlayersAreBounded() {
        var room = Room()
        var read = 0
        for number in 0..<1_000 {
            room.send(.appeared(PlayerID(":2.\(number)"), name: "p", process: nil))
            read += room.effects.count
        }
        #expect(read == PlayerTracker.capacity)
    }

    @Test func aPlayerWithTwoBusNamesIsTrackedOnce() {
        var room = Room()
        room.start()
        room.send(.appeared(PlayerID(":1.8"), name: "vlc.instance42", process: 42))
        #expect(room.effects.isEmpty)
        room.send(.appeared(PlayerID(":1.9"), name: "vlc.instance43", process: 43))
        #expect(room.effects == [.read(PlayerID(":1.9"))])
    }

    // MARK: Resuming

    private func isSeek(_ effects: [PlayerTracker.Effect]) -> Bool {
        effects.contains { if case .seek = $0 { true } else { false } }
    }

    @Test func aPlayerIsMovedOnceItPlays() {
        var room = Room()
        room.start()
        room.send(.answered(Self.vlc, session: 1, resume: 497))
        #expect(room.effects.isEmpty)
        room.send(.tick, after: 0.3)
        room.send(.position(Self.vlc, 0))
        #expect(room.effects.isEmpty, "it does not play yet")
        room.send(.tick, after: 0.3)
        room.send(.position(Self.vlc, 0.4))
        #expect(room.effects == [.seek(Self.vlc, track: "/t/1", to: 497, from: 0.4)])
        room.send(.tick, after: 1)
        room.send(.position(Self.vlc, 498))
        #expect(room.reports == ["seeked 498.0"])
        room.send(.answered(Self.vlc, session: 1, resume: nil))
        for _ in 0..<10 {
            room.send(.tick, after: 10)
            room.send(.position(Self.vlc, 0))
            #expect(!isSeek(room.effects), "it is moved only once")
        }
    }

    @Test(arguments: [
        PlayerProperties(canSeek: false),
        // The answer arrives after the session has ended.
        PlayerProperties(track: PlayerTrack(url: "file:///music.mp3", id: "/t/2")),
    ])
    func aPlayerThatCannotSeekOrHasAnotherTrackIsNotMoved(change: PlayerProperties) {
        var room = Room()
        room.start()
        room.send(.changed(Self.vlc, change))
        room.send(.answered(Self.vlc, session: 1, resume: 497))
        room.send(.tick, after: 3)
        room.send(.position(Self.vlc, 0.5))
        #expect(!isSeek(room.effects))
    }

    @Test func aPlayerWithoutAPositionIsNotMoved() {
        for status in [PlayerStatus.playing, .paused] {
            var room = Room()
            room.start(status: status)
            room.send(.answered(Self.vlc, session: 1, resume: 497))
            var readings = 0
            for _ in 0..<100 {
                room.send(.tick, after: 0.3)
                guard room.effects.contains(.readPosition(Self.vlc)) else { continue }
                readings += 1
                room.send(.position(Self.vlc, nil))
                #expect(!isSeek(room.effects))
            }
            #expect(readings < 12, "its position is not read forever")
        }
    }
}
