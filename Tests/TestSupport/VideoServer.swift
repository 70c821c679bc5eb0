import CLinux
import Foundation
import Glibc
import Synchronization

/// A server of videos on the loopback interface: `GET /videos`, `POST /videos` → 303, `PUT` (or tus) and `GET
/// /videos/ID/movie`, `GET /videos/ID/thumbnail`. It misbehaves as a test asks it to, and remembers what it was asked.
///
/// What it takes is kept in files of a temporary folder. One thread accepts, one serves each connection. Stopped and
/// started again it keeps its port and its videos.
package final class VideoServer: Sendable {
    /// What the list of videos looks like.
    package enum Listing: Sendable, CaseIterable {
        /// An array of videos, or an object with such a member `videos`.
        case array, object
        /// JSON Feed 1.1.
        case jsonFeed
    }

    /// What the server offers.
    package struct Options: Sendable {
        /// tus 1.0.0 at the places of media.
        package var speaksTus = false
        /// A POST with the Idempotency-Key of an earlier one is answered as that was.
        package var heedsKeys = true
        /// Names the field Idempotency-Key in answers to GET.
        package var namesKeys = true
        /// Answers GET /videos.
        package var lists = true
        package var listing = Listing.array
        /// What Authorization must be.
        package var authorization: String?
        /// How fast bodies are read, in bytes per second; `nil` as fast as they come.
        package var bytesPerSecond: Int?

        package init() {}
    }

    /// How a request goes wrong.
    package enum Fault: Sendable {
        /// Answered before the body is read.
        case status(Int, retryAfter: Int? = nil)
        /// The connection ends after so many bytes of the body.
        case dropBody(after: Int)
        /// The server has no more to say after so many bytes of the body, and takes no more, but does not let go of the
        /// connection before it is asked again.
        case deafen(after: Int)
        /// All is done that the request asks for, and the connection ends without an answer.
        case dropAnswer
        case redirect(Int, to: String)
    }

    package struct Call: Sendable {
        package let method: String
        package let path: String
        /// Among the requests of the same method and path, from 0.
        package let index: Int
        package let headers: HeaderFields
        /// `nil` while there is no answer, and when there never was one.
        package internal(set) var status: Int?
        /// Bytes of its body that were read.
        package internal(set) var received = 0
    }

    package struct Video: Sendable {
        package let id: Int
        package let title: String
        package let description: String?
        package let thumbnail: [UInt8]?
        /// Where its media are, once they are whole.
        package internal(set) var movie: String?
        package internal(set) var type: String?
        /// Of the media, in bytes; by tus, those that are there.
        package internal(set) var size = 0
        /// By tus: how long the media will be. Only the first request that brings some of them may say so
        /// (creation-defer-length).
        package internal(set) var length: Int?
        /// How often media were stored whole.
        package internal(set) var timesStored = 0
        /// By tus: a request that brings bytes is under way, and no other may.
        var isLocked = false
    }

    package typealias Script = @Sendable (Call) -> Fault?

    struct State {
        var options: Options
        var script: Script = { _ in nil }
        var videos: [Video] = []
        /// The videos that were made by requests with these keys.
        var keys: [String: Int] = [:]
        var calls: [Call] = []
        var port: UInt16 = 0
        var listener: Int32?
        var sockets: Set<Int32> = []
    }

    let folder: TemporaryDirectory
    let state: Mutex<State>
    private let threads = DispatchGroup()

    package init(_ options: Options = Options()) throws {
        folder = try TemporaryDirectory()
        state = Mutex(State(options: options))
        try start()
    }

    deinit { stop() }

    // MARK: What tests ask for

    package func url(_ path: String = "/videos", host: String = "127.0.0.1") -> String {
        "http://\(host):\(state.withLock { $0.port })\(path)"
    }

    /// Each request is asked about when its head has come; from any thread.
    package func misbehave(_ script: @escaping Script) { state.withLock { $0.script = script } }

    package func change(_ body: (inout Options) -> Void) { state.withLock { body(&$0.options) } }

    package var videos: [Video] { state.withLock { $0.videos } }

    /// Requests in the order of their heads.
    package var calls: [Call] { state.withLock { $0.calls } }

    package func calls(_ method: String, _ path: String? = nil) -> [Call] {
        calls.filter { $0.method == method && (path == nil || $0.path == path) }
    }

    // MARK: Starting and stopping

    package func start() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw SystemCallError("socket") }
        var on: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = state.withLock { $0.port }.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(listener, address, length) == 0 else { throw SystemCallError("bind") }
                guard listen(listener, SOMAXCONN) == 0 else { throw SystemCallError("listen") }
                guard getsockname(listener, address, &length) == 0 else { throw SystemCallError("getsockname") }
            }
        }
        state.withLock {
            $0.port = UInt16(bigEndian: address.sin_port)
            $0.listener = listener
        }
        threads.enter()
        Thread.detachNewThread { [weak self, threads] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    break
                }
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
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
            close(listener)
            threads.leave()
        }
    }

    /// Breaks off what is under way, and refuses connections until `start`.
    package func stop() {
        let sockets = state.withLock { state in
            defer { state.listener = nil }
            // A listener that is shut down refuses at once, and its accept returns.
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            return state.sockets
        }
        // Reset, as by a process that ends: a sender that has only heard that nothing more will be said, and for which
        // there is no room at the moment, would ask for room again after minutes.
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
