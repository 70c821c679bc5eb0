import Dispatch
import Glibc
import Synchronization
import SystemPackage

@testable import Fuse

/// A filesystem that records most calls. Lookups find `a` (node 2) and `b` (node 3). Listings contain other names.
/// Node 4 is opened with a backing file. Reads wait until the test answers or interrupts them.
final class TestFilesystem: FilesystemOperations {
    let calls = Mutex<[String]>([])
    let parked = Mutex<[UInt64: ParkedRequest]>([:])
    /// Called when a read has been parked and its interrupt handler is registered.
    let whenParked: @Sendable (UInt64) -> Void
    /// Called before a read is parked; a test may block here.
    let beforeParking: @Sendable (UInt64) -> Void

    init(
        beforeParking: @escaping @Sendable (UInt64) -> Void = { _ in },
        whenParked: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) {
        self.beforeParking = beforeParking
        self.whenParked = whenParked
    }

    func note(_ call: String) {
        calls.withLock { $0.append(call) }
    }

    static func entry(_ node: UInt64, size: Int64 = 1_000) -> Entry {
        Entry(
            node: NodeID(rawValue: node),
            attributes: Attributes(
                inode: node + 100, kind: node == 1 ? .directory : .regular, permissions: 0o444, size: size, blocks: 3,
                uid: 1, gid: 2, accessed: 5, modified: -7, changed: 8),
            attributeTimeout: 1.5, entryTimeout: 60)
    }

    func initialize() {}

    func lookup(_ request: consuming Request, parent: NodeID, name: String) {
        note("lookup \(parent.rawValue) \(name) by \(request.caller.uid):\(request.caller.gid) \(request.caller.pid)")
        switch name {
        case "a": request.reply(entry: Self.entry(2))
        case "b": request.reply(entry: Self.entry(3))
        case "dropped": break
        case "error": request.reply(error: .permissionDenied)
        default: request.reply(entry: .negative(timeout: 2))
        }
    }

    func forget(node: NodeID, count: UInt64) { note("forget \(node.rawValue) \(count)") }

    func getattr(_ request: consuming Request, node: NodeID, handle: FileHandle?) {
        note("getattr \(node.rawValue) \(handle.map { "\($0.rawValue)" } ?? "-")")
        request.reply(attributes: Self.entry(node.rawValue).attributes, timeout: 0.25)
    }

    func readlink(_ request: consuming Request, node: NodeID) { request.reply(link: "../target") }

    func open(_ request: consuming Request, node: NodeID, flags: Int32) {
        note("open \(node.rawValue)")
        if node.rawValue == 4 {
            var reply = OpenReply(handle: FileHandle(rawValue: 78))
            // Direct I/O is used only if `flags` request it.
            reply.directIO = flags & __O_DIRECT != 0
            (reply.keepCache, reply.noFlush, reply.backing) = (true, true, BackingID(rawValue: 9))
            request.reply(open: reply)
            return
        }
        request.reply(open: Self.cached(77, isDirect: node.rawValue == 3))
    }

    static func cached(_ handle: UInt64, isDirect: Bool) -> OpenReply {
        var reply = OpenReply(handle: FileHandle(rawValue: handle))
        (reply.keepCache, reply.directIO) = (true, isDirect)
        return reply
    }

    func read(_ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, size: Int) {
        let id = request.id
        beforeParking(id)
        let waiting = ParkedRequest(request)
        parked.withLock { $0[id] = waiting }
        waiting.onInterrupt { [self] in
            note("interrupt")
            _ = parked.withLock { $0.removeValue(forKey: id) }
            waiting.take()?.reply(error: .interrupted)
        }
        whenParked(id)
    }

    func answer(_ id: UInt64, _ bytes: [UInt8]) {
        guard let request = parked.withLock({ $0.removeValue(forKey: id) })?.take() else { return }
        request.reply(upTo: bytes.count) { memory throws(Errno) -> Int in
            memory.copyBytes(from: bytes)
            return bytes.count
        }
    }

    func release(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        note("release \(handle.rawValue)")
        request.replyDone()
    }

    func opendir(_ request: consuming Request, node: NodeID) {
        request.reply(open: OpenReply(handle: FileHandle(rawValue: 0)))
    }

    func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle) { request.replyDone() }

    func access(_ request: consuming Request, node: NodeID, mask: Int32) { request.reply(error: .permissionDenied) }

    func listxattr(_ request: consuming Request, node: NodeID, capacity: Int) {
        request.reply(attributeNames: ["user.a"], capacity: capacity)
    }

    /// Lists ten names; `hidden` has no attributes.
    func readdir(_ request: consuming Request, node: NodeID, page: DirectoryPage) {
        request.reply(listing: page) { buffer in
            for number in page.offset..<10 {
                let fits =
                    number == 4
                    ? buffer.add(name: "hidden", inode: 104, kind: .regular, nextOffset: 5)
                    : buffer.add(name: "name \(number)", entry: Self.entry(10 + number), nextOffset: number + 1)
                guard fits else { return }
            }
        }
    }

    func statfs(_ request: consuming Request, node: NodeID) {
        request.reply(statistics: FilesystemStatistics(blockSize: 512, blocks: 10, freeBlocks: 6))
    }

    func getxattr(_ request: consuming Request, node: NodeID, name: String, capacity: Int) {
        guard name == "user.a" else {
            request.reply(error: .noData)
            return
        }
        request.reply(value: "value", capacity: capacity)
    }

    func setxattr(
        _ request: consuming Request, node: NodeID, name: String, value: UnsafeRawBufferPointer, flags: Int32
    ) {
        note("setxattr \(node.rawValue) \(name) \(String(decoding: value, as: UTF8.self)) \(flags)")
        request.replyDone()
    }
}

/// A counter of events on other threads, for which a test can wait.
final class Counter: Sendable {
    private let value = Mutex(0)
    private let additions = DispatchSemaphore(value: 0)

    var count: Int { value.withLock { $0 } }

    func add() {
        value.withLock { $0 += 1 }
        additions.signal()
    }

    /// Waits for `number` additions for which no call has waited yet. Returns `false` if they take longer than a
    /// minute.
    func wait(_ number: Int = 1) -> Bool {
        let deadline = DispatchTime.now() + 60
        return (0..<number).allSatisfy { _ in additions.wait(timeout: deadline) == .success }
    }
}

extension Entry {
    /// Returns a reply that no node has the name; the kernel caches it for `timeout` seconds.
    fileprivate static func negative(timeout: Double) -> Entry {
        Entry(
            node: NodeID(rawValue: 0), attributes: Attributes(inode: 0, kind: .regular, permissions: 0),
            attributeTimeout: 0, entryTimeout: timeout)
    }
}
