package import Dispatch
internal import Glibc

/// Calls `action` on a queue whenever the process gets the signal, in place of its default effect, until the source is
/// cancelled.
package func signalSource(
    _ number: Int32, _ action: @escaping @Sendable () -> Void
) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "podfs.signals"))
    source.setEventHandler(handler: action)
    source.resume()
    return source
}
