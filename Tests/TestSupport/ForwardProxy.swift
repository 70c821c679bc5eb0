import CLinux
import Foundation
import Glibc
import Platform
import Synchronization

/// An HTTP proxy on the loopback interface. It accepts requests in absolute form (RFC 9112 §3.2.2), one on each
/// connection, and CONNECT (RFC 9110 §9.3.6). It maps host names to ports of this computer, without DNS.
package final class ForwardProxy: Sendable {
    private struct State {
        var targets: [String: UInt16] = [:]
        var requests: [String] = []
    }

    private let state = Mutex(State())
    private let reserved: ReservedPort
    private let listener: Int32

    /// - Parameter targets: The port on 127.0.0.1 for each host name. A request for another host is answered with 502.
    package init(_ targets: [String: UInt16]) throws {
        state.withLock { $0.targets = targets }
        reserved = try ReservedPort()
        listener = try reserved.listen(isBlocking: true)
        let descriptor = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let client = clinux_accept(descriptor, Int32(SOCK_CLOEXEC.rawValue))
                if client < 0 { break }
                Thread.detachNewThread { [weak self] in
                    self?.serve(client)
                    close(client)
                }
            }
            ReservedPort.stopListening(descriptor)
        }
    }

    /// Ends the accepting thread, because its `accept` then fails.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    package var port: UInt16 { reserved.number }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// The first lines of all requests, without the version.
    package var requests: [String] { state.withLock { $0.requests } }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func serve(_ client: Int32) {
        guard let (head, rest) = Self.readHead(client) else { return }
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count == 3 else { return }
        state.withLock { $0.requests.append("\(words[0]) \(words[1])") }
        let isTunnel = words[0] == "CONNECT"
        guard let parts = URLComponents(string: isTunnel ? "https://\(words[1])" : words[1]), let host = parts.host,
            let port = state.withLock({ $0.targets[host] }), let server = Self.connect(to: port)
        else {
            Self.send(Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".utf8), to: client)
            return
        }
        defer { close(server) }
        if isTunnel {
            Self.send(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8), to: client)
        } else {
            let query = parts.percentEncodedQuery.map { "?" + $0 } ?? ""
            lines[0] = "\(words[0]) \(parts.percentEncodedPath)\(query) HTTP/1.1"
            lines.removeAll { $0.lowercased().hasPrefix("proxy-connection:") }
            Self.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8), to: server)
        }
        Self.send(rest, to: server)
        Self.copyBothWays(client, server, isOneExchange: !isTunnel)
    }

    /// Returns the head of a request without the empty line, and the bytes after it.
    private static func readHead(_ client: Int32) -> (head: String, rest: [UInt8])? {
        var input: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1_024)
        while input.count < 64 * 1_024 {
            if let end = input.firstRange(of: Array("\r\n\r\n".utf8)) {
                return (String(decoding: input[..<end.lowerBound], as: UTF8.self), Array(input[end.upperBound...]))
            }
            let count = read(client, &buffer, buffer.count)
            guard count > 0 else { return nil }
            input += buffer[..<count]
        }
        return nil
    }

    private static func connect(to port: UInt16) -> Int32? {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard server >= 0 else { return nil }
        var address = loopback(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return server }
        close(server)
        return nil
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        _ = bytes.withUnsafeBytes { sendAll($0, to: descriptor) }
    }

    /// Copies until either side closes its connection.
    ///
    /// - Parameter isOneExchange: Whether `Connection: close` is added to the response, so that the client sends its
    ///   next request on a new connection.
    private static func copyBothWays(_ one: Int32, _ other: Int32, isOneExchange: Bool) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            var entries = [
                pollfd(fd: one, events: Int16(POLLIN), revents: 0),
                pollfd(fd: other, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 2, -1) > 0 else { return }
            for (from, to) in [(0, 1), (1, 0)] where entries[from].revents != 0 {
                let count = read(entries[from].fd, &buffer, buffer.count)
                guard count > 0 else { return }
                var piece = Array(buffer[..<count])
                if isOneExchange, to == 0, piece.starts(with: "HTTP/1.1 ".utf8),
                    let end = piece.firstRange(of: Array("\r\n".utf8))
                {
                    piece.insert(contentsOf: "Connection: close\r\n".utf8, at: end.upperBound)
                }
                send(piece, to: entries[to].fd)
            }
        }
    }
}
