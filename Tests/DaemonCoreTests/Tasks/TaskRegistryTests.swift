import Platform
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastService

struct TaskRegistryTests {
    private var tasks = TaskRegistry()

    /// Returns the numbers of `count` further events.
    private mutating func numbers(_ count: Int) -> [Int64] {
        let moment = Moment(wall: .seconds(1_000), uptime: .seconds(10))
        var numbers: [Int64] = []
        for _ in 0..<count {
            numbers.append(tasks.event(.progress(TaskInfo(id: 1, state: .running)), at: moment).sequence)
        }
        return numbers
    }

    @Test mutating func numbersUsedWithoutAReservationAreNotUsedAgain() {
        tasks.reserve(1..<3)
        var used = numbers(7)
        #expect(used == Array(1...7) && tasks.lacksSequences)
        // The library's counter has not advanced meanwhile.
        for start: Int64 in [3, 5, 7, 9] {
            tasks.reserve(start..<start + 2)
            used += numbers(1)
        }
        #expect(used == Array(1...11))
    }
}
