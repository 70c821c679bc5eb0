import Platform
import Testing

@testable import PodcastService

/// Tests of the part of the daemon's time that assessments of the cache's space may take.
struct AssessmentPaceTests {
    @Test func aShortAssessmentDelaysNoOther() {
        var pace = CoreDriver.AssessmentPace()
        let start = Instant.start + .seconds(5)
        pace.record(since: start, until: start + .microseconds(200))
        #expect(pace.earliest <= start)
    }

    @Test func longAssessmentsTakeATenthOfTheTime() {
        var pace = CoreDriver.AssessmentPace()
        let start = Instant.start + .seconds(5)
        pace.record(since: start, until: start + .milliseconds(3))
        #expect(pace.earliest == start + .milliseconds(30))
    }
}
