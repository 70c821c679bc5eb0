import CLinux
import Dispatch
import Foundation
import Glibc

/// The thread that accepts connections and starts a thread for each.
struct Acceptor: Sendable {
    let descriptor: Int32
    let stopping: Waker
    let shared: SharedState
    let sendBuffer: Int?

    /// The maximum number of connections; more clients wait in the backlog.
    private static let maximumConnections = 512

    /// Accepts until the server is stopped. Returns when the threads of all connections have ended.
    func run() {
        let slots = DispatchSemaphore(value: Self.maximumConnections)
        let threads = DispatchGroup()
        while let accepted = next(slots) {
            threads.enter()
            Thread.detachNewThread {
                accepted.connection.run()
                shared.closed(accepted.number)
                slots.signal()
                threads.leave()
            }
        }
        ReservedPort.stopListening(descriptor)
        threads.wait()
    }

    /// Waits for a free slot and returns the next connection, or `nil` when the server is stopped.
    private func next(_ slots: DispatchSemaphore) -> (connection: Connection, number: Int)? {
        // Stopping the server ends this wait as well, because every connection ends then and frees its slot.
        slots.wait()
        while !shared.isStopping {
            var polled = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polled, 2, -1) > 0, polled[1].revents == 0 else { continue }
            let socket = clinux_accept(descriptor, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
            guard socket >= 0 else { continue }
            guard let waker = try? Waker(), let number = shared.opened(waker) else {
                close(socket)
                continue
            }
            var on: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            if let sendBuffer {
                var size = Int32(sendBuffer)
                setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
            return (Connection(socket: socket, waker: waker, number: number, shared: shared), number)
        }
        slots.signal()
        return nil
    }
}
