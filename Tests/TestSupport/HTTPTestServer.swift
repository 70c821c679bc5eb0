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
    private let listener = Mutex<(port: UInt16, stopping: Waker, thread: DispatchGroup)?>(nil)

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

    /// Serves `resource` at `path`. Request number n for the path gets the behaviour `script[n]`, later ones `.normal`.
    /// Replaces an existing route; the count of requests continues.
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

    /// Serves only the behaviours at `path`, without a resource.
    package func serve(_ path: String, behaviour: @escaping @Sendable (RequestInfo) -> Behaviour) {
        shared.setRoute(path, Route(resource: nil, behaviour: behaviour))
    }

    /// Serves the behaviours at all paths without a route.
    package func serveElsewhere(behaviour: @escaping @Sendable (RequestInfo) -> Behaviour) {
        shared.setRoute(SharedState.elsewhere, Route(resource: nil, behaviour: behaviour))
    }

    /// Removes the route of `path`. From now on requests get 404, or the behaviours of `serveElsewhere`.
    package func remove(_ path: String) { shared.setRoute(path, nil) }

    /// Returns the URL of a path. `host` may be another spelling of the loopback host, which clients treat as another
    /// host.
    package func url(_ path: String, host: String? = nil) -> String {
        "http://\(host ?? (address.contains(":") ? "[\(address)]" : address)):\(port)\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    /// The listening port; 0 before `start`. After `stop` it is unchanged, and connections are refused.
    package var port: UInt16 { shared.port }

    // MARK: Log

    /// All requests since the last `clearLog`, in the order in which they arrived completely.
    package var requests: [LoggedRequest] { shared.requests }

    package func requests(for path: String) -> [LoggedRequest] { requests.filter { $0.path == path } }

    /// Returns the number of body bytes written for `path`, over all its responses.
    package func bodyBytesWritten(for path: String) -> Int {
        requests(for: path).reduce(0) { $0 + $1.bodyBytesWritten }
    }

    /// The number of connections accepted so far, also before a `stop`.
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
    /// - Parameter chosen: A port known to be free at this address; `nil` lets the kernel choose at the first start.
    package func start(on chosen: UInt16? = nil) throws {
        try listener.withLock { listener in
            guard listener == nil else { return }
            let (descriptor, port) = try Self.listen(on: chosen ?? shared.port, of: address)
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
            listener = (port, stopping, thread)
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

    private static func listen(on port: UInt16, of host: String) throws -> (descriptor: Int32, port: UInt16) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let isIPv6 = host.contains(":")
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, type, 0)
        guard descriptor >= 0 else { throw SystemCallError("socket") }
        do {
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in6()
            // The family and the port have the same offsets in a sockaddr_in.
            address.sin6_family = sa_family_t(isIPv6 ? AF_INET6 : AF_INET)
            address.sin6_port = port.bigEndian
            let isParsed = withUnsafeMutableBytes(of: &address) { bytes in
                inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, bytes.baseAddress?.advanced(by: isIPv6 ? 8 : 4)) == 1
            }
            guard isParsed else { throw SystemCallError("inet_pton") }
            var length = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
            try withUnsafeMutablePointer(to: &address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    guard Glibc.bind(descriptor, address, length) == 0 else { throw SystemCallError("bind") }
                    guard Glibc.listen(descriptor, SOMAXCONN) == 0 else { throw SystemCallError("listen") }
                    guard getsockname(descriptor, address, &length) == 0 else { throw SystemCallError("getsockname") }
                }
            }
            return (descriptor, UInt16(bigEndian: address.sin6_port))
        } catch {
            close(descriptor)
            throw error
        }
    }
}
