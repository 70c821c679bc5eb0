internal import CFuse
internal import Platform
import Synchronization
package import SystemPackage

/// A kernel request that must be answered by exactly one of the `reply` methods.
///
/// It cannot be copied and every reply consumes it, so a second reply does not compile. A request that is destroyed
/// without a reply sends EIO, so that no process waits forever. Each operation of a filesystem documents its "valid
/// replies".
///
/// A request may be answered on any thread and at any time, also after the operation has returned; `ParkedRequest`
/// stores it until then. Replying after the caller was interrupted, or after an unmount, is harmless.
/// The corresponding C type is `fuse_req_t`.
package struct Request: ~Copyable, Sendable {
    /// The kernel's id of the request, unique within a mount.
    package let id: UInt64
    package let caller: Caller
    let port: Port
    private var hasInterruptHandler = false
    private var answered = false

    /// The destination of the reply.
    ///
    /// `@unchecked Sendable`: the pointer is a `fuse_req_t`, which libfuse lets any thread use; the request that holds
    /// it is its only owner and uses it on one thread at a time. The other parts are Sendable.
    enum Port: @unchecked Sendable {
        /// libfuse, and through it the kernel. The request retains the session until it is answered.
        case kernel(OpaquePointer, SessionCore)
        /// A recorder in a test.
        case recorded(any ReplyRecorder)
    }

    /// Wraps the request that libfuse passes to an operation on this thread.
    init(_ request: OpaquePointer, _ core: SessionCore) {
        id = ThreadMemory.current.pointee.requestID
        let context = fuse_req_ctx(request).pointee
        caller = Caller(uid: context.uid, gid: context.gid, pid: context.pid)
        port = .kernel(request, core)
    }

    /// Creates a request of a test.
    package init(id: UInt64, uid: UInt32, gid: UInt32, pid: Int32, recording reply: any ReplyRecorder) {
        self.id = id
        caller = Caller(uid: uid, gid: gid, pid: pid)
        port = .recorded(reply)
    }

    deinit {
        guard !answered else { return }
        switch port {
        case .kernel(let request, let core):
            if hasInterruptHandler { core.interrupts.withdraw(id) }
            withExtendedLifetime(core) { _ = fuse_reply_err(request, EIO) }
        case .recorded(let reply):
            reply.record(.error(.ioError), dropped: true)
        }
    }

    /// Sends the reply, the last operation on a request. Returns true if the kernel accepted it.
    ///
    /// libfuse frees the `fuse_req_t` in `send`. The reference to `core` keeps the session alive until `send` returns.
    @discardableResult
    consuming func answer(_ recorded: @autoclosure () -> RecordedAnswer, _ send: (OpaquePointer) -> CInt) -> Bool {
        answered = true
        switch port {
        case .kernel(let request, let core):
            if hasInterruptHandler { core.interrupts.withdraw(id) }
            return withExtendedLifetime(core) { send(request) } == 0
        case .recorded(let reply):
            return reply.record(recorded(), dropped: false)
        }
    }

    /// Registers `handler` to be called if the caller is interrupted (by a signal, usually one that kills it) before
    /// the reply. Returns true if the interrupt came earlier: the caller of this method then has to run the handler,
    /// without holding a lock that the handler acquires. A request can have only one handler; `ParkedRequest` registers
    /// it.
    ///
    /// The handler is called at most once, on a thread of the session's loop. It should be quick, since the thread
    /// serves no request meanwhile. It is released when it has been called or the request is answered. A concurrent
    /// reply by another thread does not wait for the handler, so the handler may run after the reply was sent.
    ///
    /// The kernel sends interrupts only for requests that the caller itself waits for. With FUSE_ASYNC_READ a read
    /// through the page cache is not such a request: its caller waits for the page instead, and can be killed
    /// immediately. The kernel then sends no interrupt, and the request stays until it is answered.
    /// The corresponding C function is `fuse_req_interrupt_func`.
    mutating func registerInterrupt(_ handler: @escaping @Sendable () -> Void) -> Bool {
        switch port {
        case .kernel(let request, let core):
            hasInterruptHandler = true
            return core.interrupts.register(id, handler) {
                fuse_req_interrupt_func(request, Self.interrupted, UnsafeMutableRawPointer(bitPattern: UInt(id)))
            }
        case .recorded(let reply):
            return reply.register(handler)
        }
    }

    /// Called by libfuse with the request's own lock held, on the thread that reads the kernel's INTERRUPT, or during
    /// `fuse_req_interrupt_func`. The pointer is the id; see `InterruptTable`.
    private static let interrupted: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void = {
        request, data in
        guard let request else { return }
        SessionCore.of(request).interrupts.interrupt(UInt64(UInt(bitPattern: data)))
    }
}

/// The number by which the kernel refers to an inode of this filesystem.
///
/// The filesystem chooses it in the reply to a lookup or to a listing with attributes, and receives it in every later
/// request. It need not equal `Attributes.inode`. A number must not be reused for another file while the kernel may
/// still refer to it, that is until `FilesystemOperations.forget(node:count:)` has subtracted every lookup.
package struct NodeID: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The root folder: FUSE_ROOT_ID of `fuse_lowlevel.h`. The kernel never looks it up.
    package static let root = NodeID(rawValue: 1)

    /// No node: a negative entry in a lookup reply, a name without attributes in a readdirplus reply.
    static let none = NodeID(rawValue: 0)
}

/// The number of an open file or folder, chosen by the filesystem in its reply to open or opendir.
package struct FileHandle: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The caller of the system call behind a request. The corresponding C type is `struct fuse_ctx`.
package struct Caller: Sendable, Hashable {
    package var uid: UInt32
    package var gid: UInt32
    /// The calling *thread's* id, 0 if it is not visible in this process's PID namespace.
    package var pid: Int32
}

/// A request that waits for its reply. A reply, an interrupt and the shutdown may compete for it; the first one to call
/// `take()` gets the request, and answers it.
///
/// A filesystem whose requests wait stores these objects in tables of its own; a parked request occupies one small
/// object and no thread. If the object is released before the request was taken, the reply is EIO.
package final class ParkedRequest: Sendable {
    private let slot: Mutex<Request?>
    /// The request's `id`.
    package let id: UInt64
    package let caller: Caller

    package init(_ request: consuming Request) {
        id = request.id
        caller = request.caller
        slot = Mutex(request)
    }

    /// Returns the request to the first caller; `nil` to all others.
    package func take() -> Request? { slot.withLock { $0.take() } }

    /// Calls `handler` if the process that made the request is interrupted while the request waits; see
    /// `Request.registerInterrupt(_:)`.
    ///
    /// The handler usually calls `take()`, removes the request from the filesystem's tables and replies EINTR. It is
    /// called with no lock held, possibly before this method returns. It is not called if the request has been taken
    /// already.
    package func onInterrupt(_ handler: @escaping @Sendable () -> Void) {
        let interrupted = slot.withLock { slot in
            slot?.registerInterrupt(handler) ?? false
        }
        if interrupted { handler() }
    }
}

/// A test double of the kernel. With it, a filesystem can be tested by calling its operations, with neither a mount nor
/// libfuse.
package protocol ReplyRecorder: AnyObject, Sendable {
    /// Records a reply, and returns whether the kernel would accept it.
    ///
    /// - Parameter dropped: Whether the request was destroyed without a reply; `answer` is then EIO.
    @discardableResult
    func record(_ answer: RecordedAnswer, dropped: Bool) -> Bool

    /// Registers a handler for an interrupt. Returns true if the caller was interrupted already.
    func register(_ handler: @escaping @Sendable () -> Void) -> Bool
}

/// A reply as a `ReplyRecorder` gets it.
package enum RecordedAnswer: Sendable, Equatable {
    case done
    case error(Errno)
    case entry(Entry)
    case attributes(Attributes, timeout: Double)
    case open(OpenReply)
    /// The reply to read, and to getxattr and listxattr with a capacity.
    case bytes([UInt8])
    /// The reply to getxattr and listxattr with capacity 0.
    case size(Int)
    case link(String)
    case statistics(FilesystemStatistics)
    /// Consecutive `struct fuse_dirent` or, with attributes, `struct fuse_direntplus`.
    case listing([UInt8], withAttributes: Bool)
}

/// Memory that a thread reuses from one request to the next: the id of the current request, and a reply buffer.
///
/// Replies are built in memory owned by the thread, because the process would grow if each reply allocated a large
/// block: malloc has an arena for each thread, and 128 KiB blocks from several threads fragment the arenas. The memory
/// is freed when the thread exits (`pthread_setspecific`).
struct ThreadMemory {
    /// `unique` of the request's header, set by the session's loop; unused on other threads.
    var requestID: UInt64 = 0
    private var block = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    /// The calling thread's memory. Must not be stored or passed to another thread.
    static var current: UnsafeMutablePointer<ThreadMemory> {
        if let pointer = pthread_getspecific(key) { return pointer.assumingMemoryBound(to: ThreadMemory.self) }
        let pointer = UnsafeMutablePointer<ThreadMemory>.allocate(capacity: 1)
        pointer.initialize(to: ThreadMemory())
        pthread_setspecific(key, pointer)
        return pointer
    }

    /// Returns `size` bytes of undefined content. Every call returns the start of the same block. A block that is too
    /// small is replaced, which invalidates the memory returned by earlier calls.
    mutating func block(size: Int) -> UnsafeMutableRawBufferPointer {
        if block.count < size {
            block.deallocate()
            // Whole pages, so that reads of slightly different sizes do not reallocate.
            block = .allocate(byteCount: (size + 4_095) / 4_096 * 4_096, alignment: 4_096)
        }
        return UnsafeMutableRawBufferPointer(rebasing: block[..<size])
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { argument in
            guard let argument else { return }
            let pointer = argument.assumingMemoryBound(to: ThreadMemory.self)
            pointer.pointee.block.deallocate()
            pointer.deinitialize(count: 1)
            pointer.deallocate()
        }
        precondition(code == 0, "no key for thread-specific memory: \(errnoText(code))")
        return key
    }()
}

/// The interrupt handlers of requests, by request id.
///
/// libfuse stores one function and one pointer in the request, and does not report when it will no longer call the
/// function: an interrupt in progress may call it after another thread has replied. So the pointer given to libfuse is
/// not an object but the request's id, by which the handler is found here. Because libfuse retains no handler, a
/// handler is released as soon as the interrupt or the reply removes it from this table.
///
/// States of an id: absent → registering → armed → absent (interrupted or replied); registering → interrupted → absent.
final class InterruptTable: Sendable {
    typealias Handler = @Sendable () -> Void

    private enum Slot {
        /// The id is being registered with libfuse.
        case registering(Handler)
        /// The interrupt arrived during the registration, or before it.
        case interrupted
        case armed(Handler)
    }

    private let slots = Mutex<[UInt64: Slot]>([:])

    /// Registers `handler`, and calls `announce`, which registers the id with libfuse. Returns true if the request has
    /// already been interrupted. The handler is then not stored, and the caller has to run it after releasing its
    /// locks.
    ///
    /// If the interrupt came before this call, libfuse calls `interrupt` during `announce`, with the request's lock
    /// held, and uses the request afterwards. A reply frees the request, so no handler may run and reply then.
    func register(_ id: UInt64, _ handler: @escaping Handler, announce: () -> Void) -> Bool {
        slots.withLock { slots in
            precondition(slots[id] == nil, "a request has one interrupt handler")
            slots[id] = .registering(handler)
        }
        announce()
        return slots.withLock { slots in
            if case .interrupted = slots[id] {
                slots[id] = nil
                return true
            }
            slots[id] = .armed(handler)
            return false
        }
    }

    /// Handles an interrupt: runs the handler, if it is still registered, on the calling thread and without the table's
    /// lock.
    func interrupt(_ id: UInt64) {
        let handler = slots.withLock { slots -> Handler? in
            switch slots[id] {
            case .registering:
                slots[id] = .interrupted
                return nil
            case .armed(let handler):
                slots[id] = nil
                return handler
            case .interrupted, nil:
                return nil
            }
        }
        handler?()
    }

    /// Removes the handler when the request is answered; a later interrupt finds none.
    func withdraw(_ id: UInt64) { slots.withLock { $0[id] = nil } }

    /// The number of registered handlers.
    var count: Int { slots.withLock { $0.count } }
}
