import CLinux
import Foundation
import Glibc
import Synchronization

/// A video server on the loopback interface: `GET /videos`, `POST /videos` → 303, `PUT` (or tus) and `GET
/// /videos/ID/movie`, `GET /videos/ID/thumbnail`. It has scripted faults and a log of requests.
///
/// It stores media in files of a temporary folder. One thread accepts, and one serves each connection. After stop and
/// start it has the same port and videos.
package final class VideoServer: Sendable {
    /// The format of the list of videos.
    package enum Listing: Sendable, CaseIterable {
        /// An array of videos, or an object with the array as member `videos`.
        case array, object
        /// JSON Feed 1.1.
        case jsonFeed
    }

    /// The server's features.
    package struct Options: Sendable {
        /// Whether it supports tus 1.0.0 for media.
        package var speaksTus = false
        /// Whether a POST with the Idempotency-Key of an earlier one gets the same response.
        package var heedsKeys = true
        /// Whether responses to GET and POST of /videos have the field Idempotency-Key.
        package var namesKeys = true
        /// Whether it supports GET /videos.
        package var lists = true
        package var listing = Listing.array
        /// The required value of Authorization.
        package var authorization: String?
        /// The rate at which bodies are read, in bytes per second; `nil` for no limit.
        package var bytesPerSecond: Int?

        package init() {}
    }

    /// A fault of one request.
    package enum Fault: Sendable {
        /// The response is sent before the body is read.
        case status(Int, retryAfter: Int? = nil)
        /// The connection ends after this many bytes of the body.
        case dropBody(after: Int)
        /// The request is processed, and the connection ends without a response.
        case dropAnswer
        case redirect(Int, to: String)
    }

    package struct Call: Sendable {
        package let method: String
        package let path: String
        /// The position among the requests with the same method and path, from 0.
        package let index: Int
        package let headers: HeaderFields
        /// The status; `nil` before the response, or if there was none.
        package internal(set) var status: Int?
        /// The number of body bytes read.
        package internal(set) var received = 0
    }

    package struct Video: Sendable {
        package let id: Int
        package let title: String
        package let description: String?
        package let thumbnail: [UInt8]?
        /// The path of the file with its media, once they are complete.
        package internal(set) var movie: String?
        package internal(set) var type: String?
        /// The size of the media in bytes; with tus, the bytes stored so far.
        package internal(set) var size = 0
        /// With tus, the final size of the media. Only the first request with bytes may set it (creation-defer-length).
        package internal(set) var length: Int?
        /// The number of times that the server has stored the complete media.
        package internal(set) var timesStored = 0
        /// With tus, whether a request with bytes is in progress, which excludes others.
        var isLocked = false
    }

    package typealias Script = @Sendable (Call) -> Fault?

    struct State {
        var options: Options
        var script: Script = { _ in nil }
        var videos: [Video] = []
        /// The videos, by the Idempotency-Key of the request that created them.
        var keys: [String: Int] = [:]
        var calls: [Call] = []
        var listener: Int32?
        var sockets: Set<Int32> = []
    }

    let folder: TemporaryDirectory
    let state: Mutex<State>
    private let port: ReservedPort
    private let threads = DispatchGroup()

    package init(_ options: Options = Options()) throws {
        folder = try TemporaryDirectory()
        state = Mutex(State(options: options))
        port = try ReservedPort()
        try start()
    }

    deinit { stop() }

    // MARK: Control by tests

    package func url(_ path: String = "/videos", host: String = "127.0.0.1") -> String {
        "http://\(host):\(port.number)\(path)"
    }

    /// Sets the function that returns the fault of a request. It is called on any thread, when the head has arrived.
    package func misbehave(_ script: @escaping Script) { state.withLock { $0.script = script } }

    package func change(_ body: (inout Options) -> Void) { state.withLock { body(&$0.options) } }

    package var videos: [Video] { state.withLock { $0.videos } }

    /// The requests, in the order in which their heads arrived.
    package var calls: [Call] { state.withLock { $0.calls } }

    package func calls(_ method: String, _ path: String? = nil) -> [Call] {
        calls.filter { $0.method == method && (path == nil || $0.path == path) }
    }

    // MARK: Starting and stopping

    package func start() throws {
        let listener = try port.listen(isBlocking: true)
        state.withLock { $0.listener = listener }
        threads.enter()
        Thread.detachNewThread { [weak self, threads] in
            while true {
                let socket = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
                guard socket >= 0 else {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    break
                }
                guard let self, self.opened(socket) else {
                    close(socket)
                    break
                }
                threads.enter()
                Thread.detachNewThread { [weak self] in
                    if let self {
                        VideoConnection(socket: socket, server: self).run()
                        self.closed(socket)
                    } else {
                        close(socket)
                    }
                    threads.leave()
                }
            }
            ReservedPort.stopListening(listener)
            threads.leave()
        }
    }

    /// Aborts all connections, and refuses new ones until `start`.
    package func stop() {
        let sockets = state.withLock { state in
            defer { state.listener = nil }
            // A listener that is shut down refuses connections at once, and its accept returns.
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            return state.sockets
        }
        // Send a reset, like the kernel for a process that exits. After a FIN alone, a sender with a full window would
        // probe the window again only after minutes.
        var reset = linger(l_onoff: 1, l_linger: 0)
        for socket in sockets {
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
            shutdown(socket, Int32(SHUT_RDWR))
        }
    }

    private func opened(_ socket: Int32) -> Bool {
        state.withLock { state in
            guard state.listener != nil else { return false }
            state.sockets.insert(socket)
            return true
        }
    }

    private func closed(_ socket: Int32) {
        state.withLock { _ = $0.sockets.remove(socket) }
        close(socket)
    }

    // MARK: Log

    func began(_ method: String, _ path: String, _ headers: HeaderFields) -> (number: Int, fault: Fault?) {
        let (number, call, script) = state.withLock { state in
            let index = state.calls.count { $0.method == method && $0.path == path }
            let call = Call(method: method, path: path, index: index, headers: headers)
            state.calls.append(call)
            return (state.calls.count - 1, call, state.script)
        }
        return (number, script(call))
    }

    func note(_ number: Int, _ change: (inout Call) -> Void) { state.withLock { change(&$0.calls[number]) } }
}
