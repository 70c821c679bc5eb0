/// The error of a wait whose deadline has expired.
package struct DeadlineError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = "gave up waiting until \(description)" }
}

/// Waits until `condition` holds, polling every few milliseconds.
///
/// Use it for events outside the process, and for work on a queue that does not notify the test when the work is done.
/// The deadline only makes a broken test fail, and measures nothing, so choose a generous one.
package func waitUntil(
    deadline: Duration = .seconds(60), description: String = "a condition holds",
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: deadline)
    var pause = Duration.milliseconds(1)
    while true {
        if try await condition() { return }
        guard clock.now < end else { throw DeadlineError(description) }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(10))
    }
}
