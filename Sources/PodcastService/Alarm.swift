internal import Dispatch

/// Calls back once, after a time of the monotonic clock; does nothing when it is cancelled or let go before.
///
/// In place of `Task.sleep`, which wakes the process every second on Linux (Swift 6.3) for as long as anybody sleeps: a
/// daemon with nothing to do is to cost nothing.
struct Alarm {
    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - delay: in seconds.
    ///   - action: called on a queue of Dispatch's; may be called up to a tenth of the delay late, together with others.
    init(after delay: Double, action: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(deadline: .now() + delay, leeway: .milliseconds(Int(min(delay * 100, 10_000))))
        timer.setEventHandler(handler: action)
        timer.activate()
    }

    func cancel() { timer.cancel() }
}
