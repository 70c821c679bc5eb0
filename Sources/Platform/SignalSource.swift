package import Dispatch
internal import Glibc

/// Calls `action` on a queue of its own whenever the process receives the signal, until the source is cancelled.
///
/// Disables the signal's default action for good: after cancellation the signal is ignored.
package func signalSource(
    _ number: Int32, _ action: @escaping @Sendable () -> Void
) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "podfs.signals"))
    source.setEventHandler(handler: action)
    source.resume()
    return source
}
