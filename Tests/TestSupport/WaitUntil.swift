/// A wait that met its deadline.
package struct DeadlineError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = "gave up waiting until \(description)" }
}

/// Returns once `condition` holds, asking every few milliseconds.
///
/// For events outside the process or behind a queue that offers no notice of its own. The deadline is there to fail a
/// broken test, not to measure anything: keep it generous.
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
