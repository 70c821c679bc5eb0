import CLinux
import Dispatch
import Foundation
import Glibc
import Synchronization

/// An HTTP/1.1 server on the loopback interface with scripted faults and a log of requests.
///
/// One thread accepts, and one thread serves each connection. Pipelining is not supported. Routes may be changed at any
/// time, from any thread, and apply from the next request on. The server stops when it is released.
package final class HTTPTestServer: Sendable {
    private let shared: SharedState
    private let sendBuffer: Int?
    private let address: String
    private let listener = Mutex<(stopping: Waker, thread: DispatchGroup)?>(nil)

    /// - Parameters:
    ///   - sendBuffer: SO_SNDBUF of each connection, in bytes; `nil` for the kernel's default. With a small buffer, the
    ///     number of bytes written is close to the number received.
    ///   - address: An address of this computer, IPv4 or IPv6.
    package init(sendBuffer: Int? = nil, address: String = "127.0.0.1") {
        self.address = address
        shared = SharedState()
        self.sendBuffer = sendBuffer
    }

    deinit { stop() }

    // MARK: Routes

    /// Serves `resource` at `path`. Request n for the path, counted from 0, gets the behaviour `script[n]`; requests
    /// beyond the script get `.normal`. Replaces an existing route, and continues its count of requests.
    package func serve(_ path: String, _ resource: Resource, _ script: [Behaviour] = []) {
        serve(path, resource) { script.indices.contains($0.index) ? script[$0.index] : .normal }
    }

    /// Serves `resource` at `path` with the behaviour that the closure returns for each request. The closure is called
    /// on the connections' threads, possibly concurrently.
    package func serve(
        _ path: String, _ resource: Resource, behaviour: @escaping @Sendable (RequestInfo) -> Behaviour
    ) {
        shared.setRoute(path, Route(resource: resource, behaviour: behaviour))
    }

    /// Answers each request for `path` with the behaviour that the closure returns, without a resource.
    package func serve(_ path: String, behaviour: @escaping @Sendable (RequestInfo) -> Behaviour) {
        shared.setRoute(path, Route(resource: nil, behaviour: behaviour))
    }

    /// Answers each request for a path without a route with the behaviour that the closure returns.
    package func serveElsewhere(behaviour: @escaping @Sendable (RequestInfo) -> Behaviour) {
        shared.setRoute(SharedState.elsewhere, Route(resource: nil, behaviour: behaviour))
    }

    /// Removes the route of `path`. From now on, requests for it get 404, or what `serveElsewhere` answers.
    package func remove(_ path: String) { shared.setRoute(path, nil) }

    /// Returns the URL of a path. `host` may be another spelling of the loopback host, which clients treat as another
    /// host.
    package func url(_ path: String, host: String? = nil) -> String {
        "http://\(host ?? (address.contains(":") ? "[\(address)]" : address)):\(port)\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    /// The listening port; 0 before `start`. After `stop` it is unchanged, and connections are refused.
    package var port: UInt16 { shared.port?.number ?? 0 }

    // MARK: Log

    /// All requests since the last `clearLog`, in the order in which they arrived completely.
    package var requests: [LoggedRequest] { shared.requests }

    package func requests(for path: String) -> [LoggedRequest] { requests.filter { $0.path == path } }

    /// Returns the number of body bytes written for `path`, over all its responses.
    package func bodyBytesWritten(for path: String) -> Int {
        requests(for: path).reduce(0) { $0 + $1.bodyBytesWritten }
    }

    /// The number of connections accepted so far, including those before a `stop`.
    package var connectionsAccepted: Int { shared.connectionsAccepted }

    /// The maximum number of requests in progress at a time, since the last `clearLog`.
    package var peakConcurrentRequests: Int { shared.peakConcurrentRequests }

    /// Clears the log, the counts of requests for each path, and the peak of concurrent requests.
    package func clearLog() { shared.clearLog() }

    /// Waits for the first request that satisfies `predicate` and returns it.
    @discardableResult
    package func waitForRequest(
        deadline: Duration = .seconds(60), where predicate: (LoggedRequest) -> Bool = { _ in true }
    ) async throws -> LoggedRequest {
        var found: LoggedRequest?
        try await waitUntil(deadline: deadline, description: "a matching request arrives") {
            found = requests.first(where: predicate)
            return found != nil
        }
        guard let found else { throw DeadlineError("a matching request arrives") }
        return found
    }

    // MARK: Starting and stopping

    /// Starts listening. After `stop`, it listens on the same port again.
    ///
    /// - Parameter chosen: For the first start, a port known to be free at this address; `nil` lets the kernel choose.
    package func start(on chosen: UInt16? = nil) throws {
        try listener.withLock { listener in
            guard listener == nil else { return }
            let port = try shared.port ?? ReservedPort(chosen ?? 0, at: address)
            let descriptor = try port.listen(isBlocking: false)
            shared.began(on: port)
            let stopping = try Waker()
            let thread = DispatchGroup()
            let acceptor = Acceptor(
                descriptor: descriptor, stopping: stopping, shared: shared, sendBuffer: sendBuffer)
            thread.enter()
            Thread.detachNewThread {
                acceptor.run()
                thread.leave()
            }
            listener = (stopping, thread)
        }
    }

    /// Closes the listener and all connections, then waits for the threads.
    package func stop() {
        listener.withLock { listener in
            guard let running = listener else { return }
            shared.stopConnections()
            running.stopping.wake()
            running.thread.wait()
            listener = nil
        }
    }
}
