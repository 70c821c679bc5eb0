import Platform
import Testing
import TransferCore

@testable import PodcastFilesystem

struct EventTimesTests {
    private var times = EventTimes(wall: .seconds(10_000), uptime: .seconds(100))

    @Test mutating func changesSinceTheLastEventAreSelected() {
        let initial = times.advance(wall: .seconds(10_010), uptime: .seconds(110))
        let first = times.record(1, at: 10_009)
        #expect(initial == 0 && first == 9_999)
        let last = times.advance(wall: .seconds(10_020), uptime: .seconds(120))
        let (ofShow, ofOther) = (times.record(1, at: 10_019), times.record(2, at: 10_020))
        #expect(last == 10_010 && ofShow == 10_009 && ofOther == 9_999)
    }

    /// If the clock was set back since the last event, a change has an earlier time than that event.
    @Test mutating func theTimesFollowAClockThatIsSetBack() {
        times.advance(wall: .seconds(10_010), uptime: .seconds(110))
        _ = times.record(1, at: 10_010)
        // The clock is set back by an hour, and ten seconds pass.
        let last = times.advance(wall: .seconds(10_020 - 3_600), uptime: .seconds(120))
        let (ofShow, ofOther) = (times.record(1, at: 10_020 - 3_600), times.record(2, at: 10_020 - 3_600))
        #expect((6_408...6_410).contains(last) && (6_408...6_410).contains(ofShow))
        #expect((6_397...6_399).contains(ofOther))
        // The clock continues normally.
        let next = times.advance(wall: .seconds(10_030 - 3_600), uptime: .seconds(130))
        let nextOfShow = times.record(1, at: 10_030 - 3_600)
        #expect(next == 6_420 && nextOfShow == 6_420)
    }

    /// A change before the jump has an earlier time, and must not be missed.
    @Test mutating func theTimesStayIfTheClockIsSetForward() {
        times.advance(wall: .seconds(10_010), uptime: .seconds(110))
        _ = times.record(1, at: 10_010)
        let last = times.advance(wall: .seconds(20_000), uptime: .seconds(120))
        let ofShow = times.record(1, at: 20_000)
        #expect(last == 10_010 && ofShow == 10_010)
    }
}
