import Platform
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastService

/// The changes of the stored position and of the played mark that follow from players' reports.
///
/// A *stretch* is playback without a seek. A stretch that reaches the *tail*, the last part of the episode, marks the
/// episode as played.
///
/// Times and positions are in seconds; the episode lasts 1,000 s unless stated, so its tail begins at 970 s.
@Suite struct ListeningBookTests {
    /// A library of one episode, and the players that report about it.
    private struct Room {
        var book = ListeningBook()
        var stored = StoredListening(duration: 1_000)
        var now: Double = 0
        var last: ListeningBook.Verdict = .init()

        mutating func report(
            _ phase: ListeningReport.Phase, _ position: Double, after seconds: Double = 0, player: String = "vlc",
            duration: Double? = nil, rate: Double = 1
        ) {
            now += seconds
            last = book.handle(
                ListeningReport(
                    episode: 1, player: player, phase: phase, position: position, duration: duration, rate: rate),
                stored: stored, at: .milliseconds(Int64(now * 1_000)))
            if let change = last.change { (stored.played, stored.position) = (change.played, change.position) }
        }

        /// Starts at the beginning, and plays up to a position.
        static func played(to end: Double) -> Room {
            var room = Room()
            room.report(.started, 0)
            room.play(from: 0, to: end)
            return room
        }

        /// Plays up to a position, with a report every ten seconds.
        mutating func play(from begin: Double, to end: Double, player: String = "vlc", rate: Double = 1) {
            var position = begin
            while position < end {
                let next = min(end, position + 10 * rate)
                report(.playing, next, after: (next - position) / rate, player: player, rate: rate)
                position = next
            }
        }
    }

    // MARK: Positions

    @Test func aPauseStoresThePositionAndTheStartOfTheStretch() {
        var room = Room()
        room.report(.started, 0)
        #expect(room.last == .init())
        room.report(.playing, 0.25, after: 0.25)
        room.play(from: 0.25, to: 60)
        room.report(.paused, 63.2, after: 3.2)
        #expect(room.last.change == ListeningChange(played: false, position: 63.2, started: 0, total: nil))
    }

    @Test func playbackIsWrittenEveryTenSecondsOnly() {
        var room = Room()
        room.report(.started, 0)
        var written: [Double] = []
        for second in 1...30 {
            room.report(.playing, Double(second), after: 1)
            if room.last.change != nil { written.append(Double(second)) }
        }
        #expect(written == [1, 11, 21])
    }

    @Test(arguments: [-1, 0, 999, 1_000, 1_000_000, 1e300] as [Double])
    func aPositionIsWithinTheEpisode(_ position: Double) {
        var room = Room()
        room.report(.started, 0, duration: 1_000)
        room.report(.seeked, position, duration: 1_000)
        if position > ListeningRules.longest {
            #expect(room.stored.position == nil)
        } else {
            #expect(room.stored.position == min(max(0, position), 1_000))
        }
        #expect(!room.stored.played)
    }

    @Test func impossibleReportsAreIgnored() {
        var room = Room()
        for position in [Double.nan, .infinity, -.infinity] { room.report(.paused, position) }
        room.report(.paused, 50, player: "")
        room.report(.paused, 50, player: String(repeating: "x", count: 1_000_000))
        #expect(room.stored.position == nil)
        for wrong in [Double.nan, -1, 0, 1e300] {
            #expect(
                ListeningReport(episode: 1, player: "p", phase: .paused, position: 5, duration: wrong, rate: wrong)
                    .validated(within: nil)?.duration == nil)
        }
    }

    // MARK: Played

    @Test(arguments: [(10, 2.5), (40, 10), (100, 25), (120, 30), (1_000, 30), (1_500, 30), (3_600, 72)])
    func theTailIsShortInShortEpisodes(_ duration: Double, _ tail: Double) {
        #expect(ListeningRules.tail(of: duration) == tail)
    }

    @Test func anEpisodeIsPlayedWhenItsTailIsReached() {
        var room = Room.played(to: 969)
        #expect(!room.stored.played)
        room.report(.playing, 970, after: 1)
        #expect(room.stored == StoredListening(played: true, position: nil, duration: 1_000))
        #expect(room.last.change?.started == 0)
        room.play(from: 970, to: 1_000)
        room.report(.stopped, 1_000)
        #expect(room.stored.played && room.stored.position == nil)
    }

    /// Only a stretch that began before the tail marks the episode as played.
    @Test func aSeekIntoTheTailDoesNotCount() {
        var room = Room.played(to: 20)
        room.report(.seeked, 980)
        room.play(from: 980, to: 1_000)
        room.report(.stopped, 1_000)
        #expect(!room.stored.played)
        #expect(ListeningRules.resume(room.stored, duration: 1_000) == nil, "there is nothing left to listen to")
    }

    /// The position advances further than the player can have played in that time, so the player must have sought into
    /// the tail.
    @Test func aSeekThatWasNotReportedDoesNotCount() {
        var room = Room.played(to: 20)
        room.report(.playing, 990, after: 10)
        #expect(!room.stored.played)
        room.report(.playing, 1_000, after: 10)
        #expect(!room.stored.played)
    }

    @Test func anEpisodeHeardAtTwiceTheSpeedIsPlayed() {
        var room = Room()
        room.report(.started, 0, rate: 2)
        room.play(from: 0, to: 972, rate: 2)
        #expect(room.stored.played)
    }

    @Test func timeAsleepIsNotPlayback() {
        var room = Room.played(to: 100)
        room.report(.playing, 101, after: 8 * 3_600)
        #expect(room.stored == StoredListening(position: 101, duration: 1_000))
    }

    @Test func withoutADurationNothingIsPlayed() {
        var room = Room()
        room.stored.duration = nil
        room.report(.started, 0)
        room.play(from: 0, to: 5_000)
        #expect(room.stored == StoredListening(position: 5_000))
    }

    /// A played episode that is played again from the beginning is marked as not played after a minute.
    @Test func aPlayedEpisodeStaysPlayedForAMinute() {
        var room = Room()
        room.stored = StoredListening(played: true, duration: 1_000)
        room.report(.started, 0)
        #expect(room.last.resume == nil)
        room.play(from: 0, to: 59)
        #expect(room.stored == StoredListening(played: true, duration: 1_000))
        room.report(.playing, 60, after: 1)
        #expect(room.stored == StoredListening(position: 60, duration: 1_000))
    }

    /// A person clears the played mark while the player plays the tail. The same stretch does not set it again.
    @Test func aMarkClearedByHandInTheTailStaysCleared() {
        var room = Room.played(to: 975)
        room.stored.played = false
        room.play(from: 975, to: 1_000)
        #expect(!room.stored.played)
    }

    // MARK: Resuming

    @Test(
        arguments: [
            (StoredListening(position: 754, duration: 1_000), 751),
            (StoredListening(position: 29, duration: 1_000), nil),
            (StoredListening(position: 30, duration: 1_000), 27), (StoredListening(duration: 1_000), nil),
            (StoredListening(played: true, position: 500, duration: 1_000), nil),
            (StoredListening(position: 980, duration: 1_000), nil), (StoredListening(position: 980), 977),
        ] as [(StoredListening, Double?)])
    func aStartFromTheBeginningIsResumed(_ stored: StoredListening, _ expected: Double?) {
        var room = Room()
        room.stored = stored
        room.report(.started, 0.4)
        #expect(room.last.resume == expected)
        #expect(room.stored == stored)
        room.report(.started, 5)
        #expect(room.last.resume == nil, "a player that resumed by itself is left alone")
    }

    @Test func aStartDoesNotLoseTheStoredPosition() {
        var room = Room()
        room.stored.position = 500
        room.report(.started, 0)
        room.report(.playing, 0.5, after: 0.5)
        room.report(.seeked, 0)
        room.report(.playing, 3, after: 3)
        room.report(.stopped, 4, after: 1)
        #expect(room.stored.position == 500)
        room.report(.started, 0)
        room.report(.playing, 1, after: 1)
        room.report(.seeked, 497)
        room.report(.stopped, 498, after: 1)
        #expect(room.stored.position == 500, "repeated short starts do not move it back")
        room.report(.started, 0)
        room.report(.stopped, 497.2, after: 1)
        #expect(room.stored.position == 500, "nor does a seek that was not reported")
        room.report(.started, 0)
        room.play(from: 0, to: 12)
        room.report(.paused, 12)
        #expect(room.stored.position == 12, "the person listens from the beginning")
    }

    @Test func aSeekElsewhereAfterAStartIsNotAResume() {
        var room = Room()
        room.stored.position = 500
        room.report(.started, 0)
        room.report(.seeked, 497)
        room.report(.seeked, 200)
        room.report(.paused, 201, after: 1)
        #expect(room.stored.position == 201)
    }

    // MARK: Several players

    /// The stored position follows the player that started last, until that player stops.
    @Test func thePlayerThatStartedLastCounts() {
        var room = Room()
        room.report(.started, 0, player: "vlc")
        room.play(from: 0, to: 100, player: "vlc")
        room.report(.started, 300, player: "mpv")
        room.play(from: 300, to: 320, player: "mpv")
        room.report(.playing, 130, after: 0, player: "vlc")
        room.report(.paused, 131, after: 0, player: "vlc")
        #expect(room.stored.position == 320)
        room.report(.stopped, 321, after: 1, player: "mpv")
        room.report(.playing, 132, after: 1, player: "vlc")
        #expect(room.stored.position == 132)
    }

    @Test func aPlayerThatContinuesTakesOver() {
        var room = Room()
        room.report(.started, 100, player: "vlc")
        room.report(.paused, 110, after: 10, player: "vlc")
        room.report(.started, 300, player: "mpv")
        room.report(.playing, 310, after: 10, player: "mpv")
        room.report(.playing, 110, player: "vlc")
        #expect(room.stored.position == 110)
    }

    @Test func aPausedPlayerThatSeeksBeforeANewDaemonKnowsItDoesNotStayTheOwner() {
        var room = Room()
        room.report(.playing, 100, player: "mpv")
        room.report(.seeked, 900, player: "vlc")
        #expect(room.stored.position == 900)
        room.play(from: 100, to: 130, player: "mpv")
        #expect(room.stored.position == 130)
    }

    /// The stored position follows mpv, but VLC can still mark the episode as played.
    @Test func anEarlierPlayerMayReachTheEnd() {
        var room = Room()
        room.report(.started, 900, player: "vlc")
        room.report(.started, 10, player: "mpv")
        room.play(from: 900, to: 980, player: "vlc")
        #expect(room.stored.played)
    }

    @Test func manyPlayersAreBounded() {
        var room = Room()
        for number in 0..<(4 * ListeningBook.capacity) {
            room.report(.started, 50, after: 1, player: "p\(number)")
        }
        room.report(.playing, 60, after: 10, player: "p\(4 * ListeningBook.capacity - 1)")
        #expect(room.stored.position == 60)
        let sessions = Mirror(reflecting: room.book).descendant("sessions") as? any Collection
        #expect(sessions?.count == ListeningBook.capacity)
    }

    /// While a script in the player reports, and for a minute afterwards, the book ignores the reports that the same
    /// process sends over the session bus (MPRIS).
    @Test func aScriptReplacesMPRISForItsProcess() {
        var book = ListeningBook()
        let stored = StoredListening(position: 500, duration: 1_000)
        func report(_ source: ListeningReport.Source, _ phase: ListeningReport.Phase, _ position: Double, at now: Int64)
            -> ListeningBook.Verdict
        {
            book.handle(
                ListeningReport(
                    episode: 1, source: source, process: 42, player: "mpv", phase: phase, position: position),
                stored: stored, at: .seconds(now))
        }
        #expect(report(.mpris, .started, 0, at: 0).resume == 497)
        #expect(report(.script, .started, 0, at: 0).resume == 497)
        #expect(report(.script, .seeked, 200, at: 1).change?.position == 200)
        #expect(report(.mpris, .seeked, 200, at: 1) == .init())
        // The player has been paused for an hour.
        #expect(report(.mpris, .playing, 203, at: 3_600) == .init())
        #expect(report(.script, .stopped, 205, at: 3_605).change?.started == 200)
        #expect(report(.mpris, .stopped, 205, at: 3_606) == .init())
        #expect(report(.mpris, .started, 0, at: 3_700).resume == 497, "the process number may have a new owner")
    }

    // MARK: A new daemon

    /// For the new daemon, which knows only the stored position, a stretch begins.
    @Test func aNewDaemonMarksTheEpisodeToo() {
        var room = Room.played(to: 960)
        room.book = ListeningBook()
        room.play(from: 960, to: 980)
        #expect(room.stored.played)
    }

    /// The first report to the new daemon is far from the stored position, so a stretch begins in the tail.
    @Test func aNewDaemonDoesNotCountASeekAsListening() {
        var room = Room()
        room.stored.position = 300
        room.report(.playing, 985)
        #expect(!room.stored.played)
        #expect(room.stored.position == 985)
    }
}
