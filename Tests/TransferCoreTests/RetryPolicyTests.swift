import Testing
import TransferCore

@Suite struct RetryPolicyTests {
    private let policy = RetryPolicy(first: 1_000, longest: 60_000)

    @Test(arguments: [(1, 500), (2, 1_000), (3, 2_000), (6, 16_000), (7, 30_000), (50, 30_000)])
    func thePauseDoublesUpToTheLongest(attempt: Int, pause: Int64) {
        #expect(policy.pause(attempt: attempt, retryAfter: nil, random: 0) == pause)
    }

    @Test func halfOfThePauseIsDrawn() {
        #expect(policy.pause(attempt: 1, retryAfter: nil, random: 0.5) == 750)
        #expect(policy.pause(attempt: 1, retryAfter: nil, random: 0.999_9) == 999)
        #expect(policy.pause(attempt: 0, retryAfter: nil, random: 0) == 500)
    }

    @Test func whatTheServerAsksForIsHonouredUpToADay() {
        #expect(policy.pause(attempt: 1, retryAfter: 90, random: 0) == 90_000)
        #expect(policy.pause(attempt: 1, retryAfter: 0, random: 0) == 500, "no sooner than without")
        #expect(policy.pause(attempt: 1, retryAfter: .max, random: 0) == 86_400_000)
    }
}
