import Synchronization

/// The resource of a path and the server's behaviour for it.
struct Route: Sendable {
    var resource: Resource?
    var behaviour: @Sendable (RequestInfo) -> Behaviour
}

/// The state shared by the server, its acceptor and its connections.
final class SharedState: Sendable {
    private struct State {
        var port: ReservedPort?
        var routes: [String: Route] = [:]
        var counts: [String: Int] = [:]
        var log: [LoggedRequest] = []
        /// Incremented when the log is cleared, so that a response in progress does not write into a new entry.
        var epoch = 0
        var active = 0
        var peak = 0
        var accepted = 0
        var connections: [Int: Waker] = [:]
        var isStopping = false
    }

    /// The position of a request in the log.
    struct Ticket: Sendable {
        fileprivate let epoch: Int
        fileprivate let index: Int
    }

    private let state = Mutex(State())

    var port: ReservedPort? { state.withLock { $0.port } }
    var requests: [LoggedRequest] { state.withLock { $0.log } }
    var connectionsAccepted: Int { state.withLock { $0.accepted } }
    var peakConcurrentRequests: Int { state.withLock { $0.peak } }
    var isStopping: Bool { state.withLock { $0.isStopping } }

    func setRoute(_ path: String, _ route: Route?) { state.withLock { $0.routes[path] = route } }

    func route(_ path: String) -> Route? { state.withLock { $0.routes[path] ?? $0.routes[Self.elsewhere] } }

    /// The key of the route that serves all paths without a route of their own. No path equals it, since paths begin
    /// with a slash.
    static let elsewhere = "*"

    func clearLog() {
        state.withLock {
            $0.log = []
            $0.counts = [:]
            $0.epoch += 1
            $0.peak = $0.active
        }
    }

    // MARK: Connections

    func began(on port: ReservedPort) {
        state.withLock {
            $0.port = port
            $0.isStopping = false
        }
    }

    /// Registers a connection and returns its number, or `nil` if the server is being stopped.
    func opened(_ waker: Waker) -> Int? {
        state.withLock {
            guard !$0.isStopping else { return nil }
            let number = $0.accepted
            $0.accepted += 1
            $0.connections[number] = waker
            return number
        }
    }

    func closed(_ number: Int) { state.withLock { $0.connections[number] = nil } }

    func stopConnections() {
        let wakers = state.withLock {
            $0.isStopping = true
            return Array($0.connections.values)
        }
        for waker in wakers { waker.wake() }
    }

    // MARK: Requests

    /// Numbers a request and adds it to the log.
    func began(_ make: (_ index: Int) -> RequestInfo, path: String) -> (request: RequestInfo, ticket: Ticket) {
        state.withLock {
            let index = $0.counts[path, default: 0]
            $0.counts[path] = index + 1
            let request = make(index)
            $0.log.append(LoggedRequest(request: request))
            $0.active += 1
            $0.peak = max($0.peak, $0.active)
            return (request, Ticket(epoch: $0.epoch, index: $0.log.count - 1))
        }
    }

    func update(_ ticket: Ticket, _ change: (inout LoggedRequest) -> Void) {
        state.withLock {
            guard $0.epoch == ticket.epoch else { return }
            change(&$0.log[ticket.index])
        }
    }

    func ended(_ ticket: Ticket, whole: Bool) {
        state.withLock {
            $0.active -= 1
            guard $0.epoch == ticket.epoch else { return }
            $0.log[ticket.index].isFinished = true
            $0.log[ticket.index].isWhole = whole
        }
    }
}
