internal import CLinux
internal import Foundation
internal import Platform
internal import PodcastProtocol
internal import Synchronization

/// The server of the daemon's socket: accepts clients and reads their frames, on one thread with epoll(7).
final class SocketServer: Sendable {
    /// The callbacks for clients and their frames. They run on the server's thread and must not block.
    struct Handler: Sendable {
        var connected: @Sendable (ClientConnection) -> Void
        var received: @Sendable (ClientConnection, Frame) -> Void
        var disconnected: @Sendable (ClientConnection) -> Void
    }

    /// The reason why the server cannot listen.
    typealias Problem = Daemon.Problem

    private typealias Peer = (client: ClientConnection, decoder: FrameDecoder)

    private let listener: Int32
    private let poller: Int32
    /// The eventfd by which `stop` ends the thread.
    private let stopper: Int32
    /// The socket that `stop` removes; `nil` for none.
    private let path: String?
    private let handler: Handler
    /// The time after which a failed accept(2) is repeated.
    private static let acceptRetryMilliseconds: Int32 = 100
    /// Signaled when the thread has ended.
    private let ended = DispatchSemaphore(value: 0)

    /// Listens at `path`, after removing an existing socket there. The caller must hold the lock that guarantees that
    /// no other daemon serves this path.
    convenience init(path: String, handler: Handler) throws {
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else {
            throw Problem(description: "\(path) is too long for a socket: set XDG_RUNTIME_DIR to a shorter path")
        }
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        self.init(listener: socket(AF_UNIX, flags, 0), path: path, handler: handler)
        unlink(path)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) }
        }
        guard bound == 0, chmod(path, 0o600) == 0, listen(listener, 128) == 0 else {
            throw Problem(description: "cannot listen at \(path): \(errnoText())")
        }
    }

    /// Serves a socket that is already listening.
    ///
    /// - Parameter path: the socket that `stop` removes; `nil` for none.
    init(listener: Int32, path: String? = nil, handler: Handler) {
        self.listener = listener
        poller = epoll_create1(Int32(EPOLL_CLOEXEC))
        stopper = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        self.path = path
        self.handler = handler
    }

    deinit {
        close(listener)
        close(poller)
        close(stopper)
    }

    /// Serves until `stop`, on a thread of its own.
    func start() {
        // Edge-triggered: a connection that cannot be accepted is not reported again and again.
        watch(listener, EPOLLET.rawValue)
        watch(stopper)
        startThread("podfs-socket") { [self] in
            run()
            ended.signal()
        }
    }

    /// Removes the socket, if this server created it, and closes every connection. Returns when the thread has ended.
    func stop() {
        if let path { unlink(path) }
        eventfd_write(stopper, 1)
        ended.wait()
    }

    private func watch(_ descriptor: Int32, _ flags: UInt32 = 0) {
        var event = epoll_event(events: EPOLLIN.rawValue | flags, data: epoll_data_t(fd: descriptor))
        epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event)
    }

    private func run() {
        var peers: [Int32: Peer] = [:]
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        var isAccepting = true
        while true {
            let timeout = isAccepting ? -1 : Self.acceptRetryMilliseconds
            let count = retryingInterrupts { epoll_wait(poller, &events, Int32(events.count), timeout) }
            guard count >= 0 else { break }
            if !isAccepting { isAccepting = accept(into: &peers) }
            for event in events.prefix(Int(count)) {
                let descriptor = event.data.fd
                if descriptor == stopper {
                    for peer in peers.values { drop(peer.client) }
                    return
                }
                if descriptor == listener {
                    isAccepting = accept(into: &peers)
                    continue
                }
                guard let client = peers[descriptor]?.client else { continue }
                if event.events & EPOLLOUT.rawValue != 0 {
                    client.flush()
                    client.updateInterest(in: poller)
                }
                if event.events & ~EPOLLOUT.rawValue != 0, !receive(&peers, descriptor, buffer) {
                    peers[descriptor] = nil
                    drop(client)
                }
            }
        }
    }

    /// Accepts all pending connections.
    ///
    /// - Returns: `false` if the kernel lacks descriptors or memory for the next one; `run` then retries after a pause.
    private func accept(into peers: inout [Int32: Peer]) -> Bool {
        while true {
            let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = retryingInterrupts { clinux_accept(listener, flags) }
            if descriptor < 0 {
                if errno == ECONNABORTED { continue }
                return errno == EAGAIN
            }
            var uid: uid_t = 0
            var pid: pid_t = 0
            guard clinux_peer_credentials(descriptor, &uid, &pid) == 0, uid == geteuid() else {
                close(descriptor)
                continue
            }
            let client = ClientConnection(descriptor: descriptor) { [weak self] client in
                if let self { client.updateInterest(in: poller) }
            }
            peers[descriptor] = (client, FrameDecoder())
            watch(descriptor)
            handler.connected(client)
        }
    }

    /// - Returns: `false` if the connection was closed or violates the protocol.
    private func receive(
        _ peers: inout [Int32: Peer], _ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let count = retryingInterrupts { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
        if count < 0 { return errno == EAGAIN }
        guard count > 0, let client = peers[descriptor]?.client else { return false }
        peers[descriptor]?.decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        do {
            while let frame = try peers[descriptor]?.decoder.next() { handler.received(client, frame) }
            return true
        } catch {
            return false
        }
    }

    private func drop(_ client: ClientConnection) {
        epoll_ctl(poller, EPOLL_CTL_DEL, client.descriptor, nil)
        client.state.withLock { $0.isClosed = true }
        shutdown(client.descriptor, Int32(SHUT_RDWR))
        handler.disconnected(client)
    }
}
