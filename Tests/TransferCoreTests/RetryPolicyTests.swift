import Testing

@testable import Transfers

@Suite struct RetryPolicyTests {
    private let policy = RetryPolicy(firstDelay: .seconds(1), maxDelay: .seconds(60))

    @Test(arguments: [(1, 500), (2, 1_000), (3, 2_000), (6, 16_000), (7, 30_000), (50, 30_000)])
    func thePauseDoublesUpToTheLongest(attempt: Int, pause: Int64) {
        #expect(policy.pause(attempt: attempt, retryAfter: nil, random: 0) == .milliseconds(pause))
    }

    @Test func halfOfThePauseIsRandom() {
        #expect(policy.pause(attempt: 1, retryAfter: nil, random: 0.5) == .milliseconds(750))
        #expect(policy.pause(attempt: 1, retryAfter: nil, random: 0.999_9) == .milliseconds(999))
        #expect(policy.pause(attempt: 0, retryAfter: nil, random: 0) == .milliseconds(500))
    }

    @Test func retryAfterIsHonouredUpToADay() {
        #expect(policy.pause(attempt: 1, retryAfter: .seconds(90), random: 0) == .seconds(90))
        #expect(policy.pause(attempt: 1, retryAfter: .zero, random: 0) == .milliseconds(500), "not before the pause")
        #expect(policy.pause(attempt: 1, retryAfter: .seconds(Int64.max), random: 0) == .seconds(86_400))
    }
}
