import CFuse
import CLinux
import Glibc
import Platform
import Synchronization

@testable import Fuse

/// The kernel's end of a session over a socket: sends requests and reads replies in the kernel's format.
///
/// The structures are those of `linux/fuse.h`; all numbers are in the byte order of the machine.
final class KernelSide: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// A reply or, if `unique` is 0, a notification, whose code is in `error`.
    struct Message: Sendable {
        var unique: UInt64
        var error: Int32
        var payload: [UInt8]

        func number<Value: FixedWidthInteger>(_ type: Value.Type, at offset: Int) -> Value {
            payload.withUnsafeBytes { bytes in
                offset + MemoryLayout<Value>.size <= bytes.count
                    ? bytes.loadUnaligned(fromByteOffset: offset, as: type) : 0
            }
        }
    }

    enum Opcode: UInt32 {
        case lookup = 1
        case forget = 2
        case getattr = 3
        case setattr = 4
        case readlink = 5
        case symlink = 6
        case mknod = 8
        case mkdir = 9
        case unlink = 10
        case rmdir = 11
        case rename = 12
        case link = 13
        case open = 14
        case read = 15
        case write = 16
        case statfs = 17
        case release = 18
        case setxattr = 21
        case getxattr = 22
        case removexattr = 24
        case flush = 25
        case initialize = 26
        case readdir = 28
        case create = 35
        case interrupt = 36
        case batchForget = 42
        case fallocate = 43
        case readdirplus = 44
        case rename2 = 45
        case lseek = 46
        case copyFileRange = 47
    }

    /// Bits 0 to 29 of the first word of INIT's flags: all of protocol 7.38 except `FUSE_INIT_EXT`.
    static let allFlags: UInt32 = 0x3fff_ffff

    let session: Session
    private let socket: Int32
    private let unique = Atomic<UInt64>(2)
    /// The messages that were received before the one that the test waited for.
    private let inbox = Mutex<[Message]>([])
    /// The error of `run(threads:)`, once it has returned or thrown.
    private let outcome = OneShot<String?>()

    /// Creates the session, runs it on its own threads, sends INIT and waits for the reply.
    init(
        _ operations: any FilesystemOperations, options: MountOptions = .test(), backingFolder: String? = nil,
        threads: Int = 2, flags: UInt32 = KernelSide.allFlags, moreFlags: UInt32 = 0
    ) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure(description: "no socket pair") }
        socket = ends[0]
        session = try Session(operations: operations, options: options, backingFolder: backingFolder)
        try session.attach(ends[1], Self.socketIO)
        startThread("test-session") { [session, outcome] in
            do {
                try session.run(threads: threads)
                outcome.deliver(nil)
            } catch {
                outcome.deliver("\(error)")
            }
        }
        initReply = Message(unique: 0, error: 0, payload: [])
        let request = send(
            .initialize, node: 0,
            bytes(UInt32(7), UInt32(38), UInt32(131_072), flags, moreFlags) + [UInt8](repeating: 0, count: 44))
        initReply = try answer(to: request)
    }

    /// The reply to INIT.
    nonisolated(unsafe) private(set) var initReply: Message  // Written in init alone.

    deinit {
        hangUp()
        close(socket)
    }

    /// Shuts the connection down, like an unmount.
    func hangUp() {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// Waits until `run(threads:)` has returned or thrown, at most a minute. `error` is the error that it threw.
    func waitForEnd() -> (ended: Bool, error: String?) {
        let end = outcome.wait(seconds: 60)
        return (end != nil, end ?? nil)
    }

    /// Sends a request and returns its number.
    @discardableResult
    func send(_ opcode: Opcode, node: UInt64, _ payload: [UInt8] = [], unique given: UInt64? = nil) -> UInt64 {
        let unique = given ?? self.unique.add(2, ordering: .relaxed).newValue
        let header = bytes(
            UInt32(40 + payload.count), opcode.rawValue, unique, node, UInt32(1000), UInt32(1001), UInt32(4321),
            UInt32(0))
        let message = header + payload
        let sent = message.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        precondition(sent == message.count, "send: \(errno)")
        return unique
    }

    /// Sends an INTERRUPT for a request. The number of the INTERRUPT itself is odd, as in the kernel.
    func interrupt(_ request: UInt64) {
        send(.interrupt, node: 0, bytes(request), unique: request | 1)
    }

    /// Waits for the reply to a request; other messages are queued.
    func answer(to request: UInt64) throws -> Message {
        try next { $0.unique == request }
    }

    func notification() throws -> Message {
        try next { $0.unique == 0 }
    }

    func call(_ opcode: Opcode, node: UInt64, _ payload: [UInt8] = []) throws -> Message {
        try answer(to: send(opcode, node: node, payload))
    }

    /// Returns the received replies to these requests.
    func receivedReplies(to requests: Set<UInt64>) -> [Message] {
        inbox.withLock { $0.filter { requests.contains($0.unique) } }
    }

    /// Returns the first matching message, and keeps the others. Throws after a minute without a message.
    private func next(_ fits: (Message) -> Bool) throws -> Message {
        let known = inbox.withLock { messages in messages.firstIndex(where: fits).map { messages.remove(at: $0) } }
        if let known { return known }
        while true {
            var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 60_000) > 0 else { throw Failure(description: "no answer") }
            let message = try Self.receive(socket)
            if fits(message) { return message }
            inbox.withLock { $0.append(message) }
        }
    }

    /// The functions by which the session reads and writes its socket. They report a closed socket with ENODEV, as
    /// /dev/fuse reports an unmount, and raise no SIGPIPE.
    private static let socketIO: fuse_custom_io = {
        var io = fuse_custom_io()
        io.writev = { descriptor, vector, count, userData in
            SessionIO.amend(vector, count, userData)
            var message = msghdr()
            message.msg_iov = vector
            message.msg_iovlen = Int(count)
            let sent = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
            if sent < 0 && errno == EPIPE { errno = ENODEV }
            return sent
        }
        io.read = { descriptor, buffer, size, _ in
            let count = read(descriptor, buffer, size)
            guard count == 0 else { return count }
            errno = ENODEV
            return -1
        }
        return io
    }()

    private static func receive(_ socket: Int32) throws -> Message {
        var buffer = [UInt8](repeating: 0, count: 300_000)
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count >= 16 else { throw Failure(description: "no message: \(count), errno \(errno)") }
        let whole = Message(unique: 0, error: 0, payload: Array(buffer[..<count]))
        guard whole.number(UInt32.self, at: 0) == UInt32(count) else { throw Failure(description: "wrong length") }
        return Message(
            unique: whole.number(UInt64.self, at: 8), error: whole.number(Int32.self, at: 4),
            payload: Array(buffer[16..<count]))
    }
}

extension MountOptions {
    static func test(_ kernel: String...) -> MountOptions {
        var options = MountOptions()
        (options.fsname, options.subtype, options.kernel) = ("test", "test", kernel)
        return options
    }
}

/// Returns the bytes of the numbers one after another, without padding, in native byte order.
func bytes(_ numbers: any FixedWidthInteger...) -> [UInt8] {
    func one(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }
    return numbers.flatMap { one($0) }
}

/// Returns a string with the NUL that ends it on the wire.
func text(_ string: String) -> [UInt8] { Array(string.utf8) + [0] }

/// Returns a `struct fuse_read_in`, which readdir and readdirplus use too.
func readRequest(handle: UInt64, offset: UInt64, size: UInt32) -> [UInt8] {
    bytes(handle, offset, size, UInt32(0), UInt64(0), UInt32(0), UInt32(0))
}
