import CLinux
import Foundation
import Glibc

/// One connection of the test server. It reads requests and sends the planned responses, all on its own thread.
struct Connection: Sendable {
    let socket: Int32
    let waker: Waker
    let number: Int
    let shared: SharedState

    /// The reason why a connection ends before its response is complete.
    private enum Broken: Error {
        case peerIsGone
        case serverStops
        case badRequest
    }

    /// The maximum size of bodies; no test sends more.
    private static let maximumBody = 16 << 20

    /// The number of body bytes generated and sent at a time.
    private static let piece = 64 << 10

    func run() {
        defer { close(socket) }
        var input: [UInt8] = []
        var stray: [UInt8] = []
        do {
            while try serveNext(&input, &stray) {}
        } catch {
            // The connection is closed after any error.
        }
    }

    /// Serves one request. Returns `false` if the connection must be closed.
    private func serveNext(_ input: inout [UInt8], _ stray: inout [UInt8]) throws -> Bool {
        guard let head = try readHead(&input) else { return false }
        if head.headers["Expect"]?.lowercased() == "100-continue" {
            try send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        let body = try readBody(head.headers, &input)
        let parts = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(parts[0])
        let (request, ticket) = shared.began(
            { index in
                RequestInfo(
                    index: index, connection: number, method: head.method, path: path,
                    query: parts.count > 1 ? String(parts[1]) : nil, headers: head.headers,
                    range: head.headers["Range"].flatMap(RequestedRange.init), body: body)
            }, path: path)
        var whole = false
        defer { shared.ended(ticket, whole: whole) }

        let route = shared.route(path)
        let behaviour = route?.behaviour(request) ?? .normal
        let asksToClose = head.headers["Connection"]?.lowercased() == "close" || head.version != "HTTP/1.1"
        let plan = ResponsePlan(for: request, from: route?.resource, as: behaviour, keepsAlive: !asksToClose)
        shared.update(ticket) { $0.status = plan.status }
        try send(stray)
        stray = behaviour.strayBytes
        try sendHead(plan)
        let isComplete = try sendBody(plan, ticket)
        whole = true
        return isComplete && !plan.closesConnection
    }

    // MARK: Reading

    private func readHead(_ input: inout [UInt8]) throws -> RequestHead? {
        while true {
            if let head = try RequestHead(from: &input) { return head }
            guard try receive(&input) else { return nil }
        }
    }

    private func readBody(_ headers: HeaderFields, _ input: inout [UInt8]) throws -> [UInt8] {
        guard let length = headers["Content-Length"] else { return [] }
        guard let count = Int(length) else { throw Broken.badRequest }
        return try take(count, &input)
    }

    private func take(_ count: Int, _ input: inout [UInt8]) throws -> [UInt8] {
        guard (0...Self.maximumBody).contains(count) else { throw Broken.badRequest }
        while input.count < count {
            guard try receive(&input) else { throw Broken.peerIsGone }
        }
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    /// Waits for bytes and appends them. Returns `false` at the end of the stream.
    private func receive(_ input: inout [UInt8]) throws -> Bool {
        while true {
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 { input += buffer[..<count] }
            if count >= 0 { return count > 0 }
            guard errno == EAGAIN || errno == EINTR else { throw Broken.peerIsGone }
            try wait(for: Int16(POLLIN))
        }
    }

    // MARK: Sending

    private func sendHead(_ plan: ResponsePlan) throws {
        let step = plan.behaviour.headBytesPerSecond == nil ? plan.head.count : 1
        var pace = Pace(bytesPerSecond: plan.behaviour.headBytesPerSecond)
        var position = 0
        while position < plan.head.count {
            let allowed = try pass(plan.behaviour.headGate, position)
            let count = min(step, allowed, plan.head.count - position)
            try wait(until: pace.next(count))
            try send(Array(plan.head[position..<position + count]))
            position += count
        }
    }

    /// Sends the planned part of the body. Returns `false` if the plan ends the connection early.
    private func sendBody(_ plan: ResponsePlan, _ ticket: SharedState.Ticket) throws -> Bool {
        let end: Int
        switch plan.behaviour.ending {
        case .complete: end = plan.range.count
        case .close(let position), .reset(let position): end = min(position, plan.range.count)
        }
        var pace = Pace(bytesPerSecond: plan.behaviour.bytesPerSecond)
        var position = 0
        while true {
            // The gate is checked after the last byte as well, so that a gate there delays the end of the response.
            let allowed = try pass(plan.behaviour.gate, position)
            guard position < end else { break }
            let count = min(pace.piece, allowed, end - position)
            try wait(until: pace.next(count))
            let start = plan.range.lowerBound + position
            let bytes = plan.body.bytes(in: start..<start + count)
            if plan.isChunked { try send(Array("\(String(bytes.count, radix: 16))\r\n".utf8)) }
            try send(bytes) { written in shared.update(ticket) { $0.bodyBytesWritten += written } }
            if plan.isChunked { try send([0x0D, 0x0A]) }
            position += count
        }
        switch plan.behaviour.ending {
        case .complete:
            if plan.isChunked { try send(Array("0\r\n\r\n".utf8)) }
            return true
        case .close:
            return false
        case .reset:
            try waitUntilDelivered()
            var lingering = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
            return false
        }
    }

    private func send(_ bytes: [UInt8], written: (Int) -> Void = { _ in }) throws {
        var position = 0
        while position < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    socket, buffer.baseAddress?.advanced(by: position), buffer.count - position,
                    Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                position += count
                written(count)
            } else if errno == EAGAIN {
                try wait(for: Int16(POLLOUT))
            } else if errno != EINTR {
                throw Broken.peerIsGone
            }
        }
    }

    /// Returns the number of bytes that may be sent after `position`; waits at a closed gate.
    private func pass(_ gate: Gate?, _ position: Int) throws -> Int {
        guard let gate else { return .max }
        defer { gate.leave(waker) }
        while true {
            let allowed = gate.allowance(after: position, waking: waker)
            if allowed > 0 { return allowed }
            try wait(for: 0)
        }
    }

    /// Waits until the peer's kernel has received everything, because a reset discards the send buffer.
    private func waitUntilDelivered() throws {
        var pending: Int32 = 0
        while ioctl(socket, UInt(TIOCOUTQ), &pending) == 0, pending > 0 {
            try wait(until: ContinuousClock.now.advanced(by: .milliseconds(1)))
        }
    }

    // MARK: Waiting

    /// Waits for one of `events` on the socket, or for a wake-up by a gate. Throws when the server stops, or when the
    /// peer has disconnected and the wait is not for reading.
    private func wait(for events: Int16, milliseconds: Int32 = -1) throws {
        let gone = events & Int16(POLLIN) == 0 ? peerHasClosed : 0
        var polled = [
            pollfd(fd: socket, events: events | gone, revents: 0),
            pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&polled, 2, milliseconds) < 0 && errno == EINTR {}
        if polled[1].revents != 0 { waker.clear() }
        if shared.isStopping { throw Broken.serverStops }
        if gone != 0, polled[0].revents & (gone | Int16(POLLERR) | Int16(POLLHUP)) != 0 { throw Broken.peerIsGone }
    }

    private func wait(until time: ContinuousClock.Instant?) throws {
        guard let time else { return }
        while true {
            let left = ContinuousClock.now.duration(to: time)
            guard left > .zero else { return }
            let milliseconds = left / .milliseconds(1)
            try wait(for: 0, milliseconds: Int32(milliseconds.rounded(.up)))
        }
    }

    /// A schedule for sending bytes at a given rate.
    private struct Pace {
        let bytesPerSecond: Int?
        let start = ContinuousClock.now
        var sent = 0

        init(bytesPerSecond: Int?) { self.bytesPerSecond = bytesPerSecond }

        /// The number of bytes to send at a time: a twentieth of a second's worth at the rate.
        var piece: Int {
            bytesPerSecond.map { min(max($0 / 20, 1), Connection.piece) } ?? Connection.piece
        }

        /// Returns the time at which `count` more bytes are due, or `nil` for now.
        mutating func next(_ count: Int) -> ContinuousClock.Instant? {
            guard let bytesPerSecond else { return nil }
            sent += count
            return start.advanced(by: .seconds(Double(sent) / Double(bytesPerSecond)))
        }
    }
}

/// POLLRDHUP of poll(2): the peer has closed its end, or half of it. The header defines it only
/// under a feature test macro, so it is not imported.
private let peerHasClosed: Int16 = 0x2000
