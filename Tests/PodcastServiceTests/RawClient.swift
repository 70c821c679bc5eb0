import CLinux
import Foundation
import Platform
import PodcastProtocol
import Synchronization
import TestSupport

/// A client that reads and writes only when the test asks for it.
final class RawClient: Sendable {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    private let decoder = Mutex(FrameDecoder())

    /// Creates a client that is not connected.
    init() {}

    convenience init(_ path: String) throws {
        self.init()
        guard try connect(to: path) else { throw POSIXError(.ECONNREFUSED) }
    }

    func connect(to path: String) throws -> Bool {
        var address = sockaddr_un()
        var length: socklen_t = 0
        guard clinux_unix_address(path, &address, &length) == 0 else { throw POSIXError(.ENAMETOOLONG) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, length) == 0 }
        }
    }

    deinit { close(descriptor) }

    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func send(_ kind: Frame.Kind, number: UInt32, _ payload: [UInt8] = []) {
        send(bytes: Frame(kind: kind, number: number, payload: payload).bytes)
    }

    func send(bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { rest in
                retryingInterrupts { Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits for the next frame and returns it; `nil` at the end of the connection. The wait blocks no thread, because
    /// the daemon's actor needs the threads.
    func next() async throws -> Frame? {
        var frame: Frame?
        try await waitUntil(description: "a frame arrives") {
            while true {
                frame = try decoder.withLock { try $0.next() }
                if frame != nil { return true }
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = buffer.withUnsafeMutableBytes { buffer in
                    retryingInterrupts { recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) }
                }
                if count < 0, errno == EAGAIN { return false }
                guard count > 0 else { return true }
                buffer[..<count].withUnsafeBytes { bytes in decoder.withLock { $0.append(bytes) } }
            }
        }
        return frame
    }
}
