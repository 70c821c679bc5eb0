import Testing

@testable import PodcastLibrary

/// The playback state that a sync action represents, the resolution of conflicts between two states, the conversion
/// between the clocks, and the time span of a request.
@Suite struct SyncActionTests {
    private func play(_ position: Int?, of total: Int?) -> SyncAction {
        SyncAction(
            podcast: "https://a.example/f", episode: "https://a.example/1.mp3", kind: .play, timestamp: 1, started: 0,
            position: position, total: total)
    }

    @Test func aPositionAtTheEndIsPlayed() {
        #expect(SyncedState(play(100, of: 100)) == .played)
        #expect(SyncedState(play(120, of: 100)) == .played)
        #expect(SyncedState(play(99, of: 100)) == .begun(99))
        #expect(SyncedState(play(99, of: nil)) == .begun(99))
        #expect(SyncedState(play(99, of: 0)) == .begun(99))
        #expect(SyncedState(play(0, of: 100)) == .new)
        #expect(SyncedState(play(nil, of: nil)) == nil)
    }

    @Test(arguments: [SyncAction.Kind.download, .delete])
    func downloadAndDeleteActionsDoNotAffectListening(kind: SyncAction.Kind) {
        var action = play(nil, of: nil)
        action.kind = kind
        #expect(SyncedState(action) == nil)
    }

    /// The action made from a state yields the same state again, whatever `total` (the episode's duration) it contains.
    @Test(arguments: [SyncedState.new, .begun(1), .begun(99), .begun(100), .begun(5_000), .played])
    func everyStateSurvivesItsAction(state: SyncedState) {
        for total in [nil, 0, 0.4, 1, 99.9, 100, 4_000.0, -1, .infinity, .nan] as [Double?] {
            let action = state.action(
                podcast: "p", episode: "e", guid: nil, device: nil, timestamp: 5, total: total)
            #expect(SyncedState(action) == state, "\(state) of \(String(describing: total))")
        }
    }

    @Test func absurdNumbersAreBounded() {
        #expect(SyncedState(played: false, position: .infinity, total: nil) == .new)
        #expect(SyncedState(played: false, position: .nan, total: .nan) == .new)
        #expect(SyncedState(played: false, position: -5, total: nil) == .new)
        #expect(SyncedState(played: false, position: 1e300, total: nil) == .begun(315_360_000))
    }

    @Test func theLaterStateWinsAndWithinASecondTheFarther() {
        let early = SyncedMoment(time: 1, state: .played)
        let late = SyncedMoment(time: 2, state: .new)
        #expect(early < late)
        #expect(SyncedMoment(time: 2, state: .new) < SyncedMoment(time: 2, state: .begun(1)))
        #expect(SyncedMoment(time: 2, state: .begun(1)) < SyncedMoment(time: 2, state: .begun(2)))
        #expect(SyncedMoment(time: 2, state: .begun(999_999)) < SyncedMoment(time: 2, state: .played))
    }

    // MARK: Clocks

    @Test func localTimesAreSentInTheServersTime() {
        let clock = SyncClock(local: 1_000, server: 4_600)
        #expect(clock.skew == 3_600)
        #expect(clock.time(ofLocal: 900, floor: 0) == 4_500)
        #expect(SyncClock(local: 1_000, server: 1_004).skew == 0, "a small difference is the duration of the request")
        #expect(SyncClock(local: 1_000, server: 500).time(ofLocal: 990, floor: 0) == 490)
    }

    @Test func aLocalTimeIsRaisedToTheFloor() {
        #expect(SyncClock(local: 1_000, server: 1_000).time(ofLocal: 900, floor: 2_000) == 2_000)
    }

    @Test func farFutureTimesCountAsNow() {
        let clock = SyncClock(local: 1_000_000, server: 1_000_000)
        #expect(clock.clamped(1_050_000) == 1_050_000, "within a day")
        #expect(clock.clamped(1_090_000) == 1_000_000)
        #expect(clock.clamped(-5) == 0)
    }

    // MARK: Requests

    @Test func requestsOverlapAndSometimesCoverEverything() {
        #expect(SyncWindow(last: 0, lastFull: nil).episodesSince == 0)
        let week = SyncWindow.overlap
        #expect(SyncWindow(last: 10 * week, lastFull: 10 * week - 5).episodesSince == 9 * week)
        #expect(SyncWindow(last: 10 * week, lastFull: 9 * week).isFull)
        #expect(SyncWindow(last: 10 * week, lastFull: 9 * week).episodesSince == 0)
        #expect(SyncWindow(last: 5, lastFull: 4).episodesSince == 0)
        #expect(SyncWindow(last: 5, lastFull: 10).isFull, "the server's clock was set back")
        #expect(SyncWindow(last: 1_000, lastFull: nil).subscriptionsSince == 940)
    }
}
