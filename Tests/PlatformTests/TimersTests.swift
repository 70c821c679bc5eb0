import Platform
import Testing

@Suite(.timeLimit(.minutes(2))) struct TimersTests {
    @Test(arguments: [0, 0.000_000_1, 0.01]) func aSleepEnds(_ seconds: Double) async {
        await Timers.sleep(for: .seconds(seconds))
    }

    @Test func cancellationEndsASleep() async {
        let task = Task { await Timers.sleep(for: .seconds(86_400)) }
        task.cancel()
        await task.value
    }

    @Test func aSleepInACancelledTaskEndsAtOnce() async {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await Timers.sleep(for: .seconds(86_400))
        }
        task.cancel()
        await task.value
    }
}
