import Platform
import Testing

@testable import PodcastService

struct RecordingBackoffTests {
    private var backoff = RecordingBackoff()

    @Test mutating func theDelayGrowsAndOnlyTheFirstFailureIsLogged() {
        #expect(!backoff.isWaiting(at: .seconds(0)))
        var isLogged = backoff.failed(at: .seconds(0))
        #expect(isLogged && backoff.until == .seconds(60))
        #expect(backoff.isWaiting(at: .seconds(59)) && !backoff.isWaiting(at: .seconds(60)))
        var now: Int64 = 60
        for delay: Int64 in [120, 240, 480, 900, 900, 900] {
            isLogged = backoff.failed(at: .seconds(now))
            #expect(!isLogged && backoff.until == .seconds(now + delay))
            now += delay
        }
    }

    @Test mutating func failuresOfOneRoundDoNotDoubleTheDelay() {
        for second in 0..<50 { _ = backoff.failed(at: .seconds(second)) }
        #expect(backoff.until == .seconds(49 + 60))
    }

    @Test mutating func aSuccessResetsItUnlessOthersOfItsRoundHaveFailed() {
        _ = backoff.failed(at: .seconds(0))
        backoff.succeeded(at: .seconds(1))
        #expect(backoff.isWaiting(at: .seconds(1)))
        backoff.succeeded(at: .seconds(60))
        #expect(backoff.until == nil)
        let isLogged = backoff.failed(at: .seconds(61))
        #expect(isLogged && backoff.until == .seconds(121))
        // A person's request ends the delay.
        backoff.reset()
        #expect(!backoff.isWaiting(at: .seconds(61)))
    }
}
