internal import CFuse
internal import Dispatch
import Glibc
internal import Platform
import Synchronization

/// libfuse's session and the state that its callbacks need.
///
/// Lifetime: retained by the `Session`, its threads and every unanswered `Request`. So a request can still be answered
/// after an unmount, although the answer then has no effect. libfuse's user data is an unretained pointer to this
/// object. That is safe because libfuse calls back only on threads that retain this object. These are the threads of
/// the loop, and any thread that registers an interrupt handler: it holds a `Request`, which retains this object.
final class SessionCore: Sendable {
    let operations: any FilesystemOperations
    let options: MountOptions
    /// The folder of the files that the kernel may read itself; see `BackingFiles`. `nil`: none.
    let backingFolder: String?
    let interrupts = InterruptTable()
    private let stopped = Atomic(false)
    /// Whether INIT has been received but not yet answered. Only then does `SessionIO` look for the reply to INIT among
    /// the messages that libfuse writes.
    fileprivate let initPending = Atomic(false)
    fileprivate let initReply = Mutex(InitReplyFields())
    /// Whether backing files may be registered: passthrough was requested, and the kernel has not refused it
    /// permanently.
    private let passthrough = Atomic(false)

    /// The fields that `SessionIO` adds to the INIT reply, because libfuse before 3.17 does not set them.
    struct InitReplyFields {
        var parallelDirectories = false
        /// `max_stack_depth` of the reply: the stack depth of this mount, which must be higher than that of the backing
        /// files' filesystem; 0 for no passthrough.
        var stackDepth: UInt32 = 0
        /// Whether the kernel has offered passthrough in INIT; not part of the reply.
        var isPassthroughOffered = false
    }

    /// `struct fuse_session *`; nil only if libfuse rejected the options.
    ///
    /// `nonisolated(unsafe)`: written only in `init`, before any other thread can access the object. The libfuse
    /// functions used here on a session may be called from any thread.
    nonisolated(unsafe) private(set) var handle: OpaquePointer?

    init(operations: any FilesystemOperations, options: MountOptions, backingFolder: String?) throws(SessionError) {
        self.operations = operations
        self.options = options
        self.backingFolder = backingFolder
        var table = OperationTable.make()
        let userData = Unmanaged.passUnretained(self).toOpaque()
        let (handle, text) = FuseLog.capturingStandardError { () -> OpaquePointer? in
            var arguments = fuse_args()
            defer { fuse_opt_free_args(&arguments) }
            for argument in ["fuse"] + options.arguments {
                guard fuse_opt_add_arg(&arguments, argument) == 0 else { return nil }
            }
            return fuse_session_new(&arguments, &table, MemoryLayout<fuse_lowlevel_ops>.size, userData)
        }
        guard let handle else { throw SessionError(SessionCore.explain(text, "libfuse rejected the options")) }
        FuseLog.writeToStandardError(text)
        self.handle = handle
    }

    deinit {
        // The table has no destroy function, so this causes no callback. Closes the descriptor.
        if let handle { fuse_session_destroy(handle) }
    }

    func requestParallelDirectories(_ want: Bool) { initReply.withLock { $0.parallelDirectories = want } }

    /// Whether the loop's threads must exit, each after its current request.
    var isStopped: Bool { stopped.load(ordering: .acquiring) }

    func stop() { stopped.store(true, ordering: .releasing) }

    /// Returns the core of a request's session, from libfuse's user data.
    static func of(_ request: OpaquePointer) -> SessionCore { of(userData: fuse_req_userdata(request)) }

    static func of(userData: UnsafeMutableRawPointer) -> SessionCore {
        Unmanaged<SessionCore>.fromOpaque(userData).takeUnretainedValue()
    }

    /// Returns libfuse's messages as one line without their prefix `fuse: `, or `otherwise` if there are none.
    static func explain(_ text: String, _ otherwise: String) -> String {
        let texts = text.split(separator: "\n").map { $0.hasPrefix("fuse: ") ? $0.dropFirst(6) : $0 }
        return texts.isEmpty ? otherwise : texts.joined(separator: "; ")
    }
}

// MARK: Passthrough

extension SessionCore {
    /// If `request` is an INIT, records that it has arrived and whether the kernel offers passthrough in it, which
    /// libfuse before 3.17 does not report. Call with every request, before libfuse handles it on the same thread.
    func inspect(_ request: UnsafeRawBufferPointer) {
        let header = MemoryLayout<fuse_in_header>.size
        // The opcode is at offset 4 of the header, `struct fuse_in_header`.
        guard request.count >= 8, request.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == FUSE_INIT.rawValue else {
            return
        }
        initPending.store(true, ordering: .relaxed)
        // `struct fuse_init_in` follows the header: major, minor, max_readahead, flags, flags2, of four bytes each.
        guard request.count >= header + 20 else { return }
        let flags = request.loadUnaligned(fromByteOffset: header + 12, as: UInt32.self)
        let more = request.loadUnaligned(fromByteOffset: header + 16, as: UInt32.self)
        initReply.withLock { initReply in
            initReply.isPassthroughOffered = flags & CFUSE_INIT_EXT != 0 && more & CFUSE_PASSTHROUGH_FLAG2 != 0
        }
    }

    /// Decides whether the INIT reply requests passthrough. The reply requests it only if a `backingFolder` is set, the
    /// kernel offers passthrough, and the process has CAP_SYS_ADMIN, without which the kernel accepts no backing file.
    ///
    /// - Parameter isAdministrator: Whether the process has CAP_SYS_ADMIN.
    func negotiatePassthrough(isAdministrator: Bool) {
        guard let folder = backingFolder, isAdministrator, initReply.withLock({ $0.isPassthroughOffered }) else {
            return
        }
        // The depth must exceed the depth of the folder's filesystem, which is assumed to be 1 if that filesystem can
        // be stacked on another, otherwise 0. The depth is not always set to 2, the kernel's maximum
        // (FILESYSTEM_MAX_STACK_DEPTH), because then nothing could be stacked on this filesystem.
        let isStacked = Self.stacked.contains(UInt32(truncatingIfNeeded: cfuse_filesystem_type(folder)))
        initReply.withLock { $0.stackDepth = isStacked ? 2 : 1 }
        passthrough.store(true, ordering: .releasing)
    }

    /// The types of filesystems that can be stacked on another: OVERLAYFS_SUPER_MAGIC, ECRYPTFS_SUPER_MAGIC and
    /// FUSE_SUPER_MAGIC of linux/magic.h and fs/fuse/inode.c.
    private static let stacked: Set<UInt32> = [0x794c_7630, 0xf15f, 0x6573_5546]

    var acceptsBackingFiles: Bool { passthrough.load(ordering: .acquiring) }

    func refuseBackingFiles() { passthrough.store(false, ordering: .releasing) }
}

/// The functions by which a session reads requests and writes replies, on /dev/fuse. They are passed to
/// `fuse_session_custom_io`.
///
/// They exist because libfuse before 3.17 does not set FUSE_PARALLEL_DIROPS in its INIT reply, although its API accepts
/// the capability. Without the flag the kernel sends one lookup or listing at a time for each folder. These versions
/// also do not know FUSE_PASSTHROUGH. Both flags are added to the INIT reply here. The functions are C function
/// pointers, which capture nothing, so they find the session through the user data; see `SessionCore`.
enum SessionIO {
    static let device: fuse_custom_io = {
        var io = fuse_custom_io()
        io.writev = { descriptor, vector, count, userData in
            SessionIO.amend(vector, count, userData)
            return writev(descriptor, vector, count)
        }
        io.read = { descriptor, buffer, size, _ in read(descriptor, buffer, size) }
        return io
    }()

    /// Adds FUSE_PARALLEL_DIROPS and FUSE_PASSTHROUGH to the INIT reply, which is the first message that consists of a
    /// header and a `fuse_init_out`. Does nothing for any other message.
    static func amend(_ message: UnsafeMutablePointer<iovec>?, _ count: Int32, _ userData: UnsafeMutableRawPointer?) {
        guard count == 2, let message, let userData else { return }
        let core = SessionCore.of(userData: userData)
        guard core.initPending.load(ordering: .relaxed), message[1].iov_len == MemoryLayout<fuse_init_out>.size,
            let body = message[1].iov_base?.assumingMemoryBound(to: fuse_init_out.self)
        else { return }
        core.initPending.store(false, ordering: .relaxed)
        let initReply = core.initReply.withLock { $0 }
        if initReply.parallelDirectories { body.pointee.flags |= UInt32(FUSE_PARALLEL_DIROPS) }
        guard initReply.stackDepth > 0 else { return }
        body.pointee.flags |= CFUSE_INIT_EXT
        body.pointee.flags2 |= CFUSE_PASSTHROUGH_FLAG2
        cfuse_set_stack_depth(body, initReply.stackDepth)
    }
}

/// The messages of libfuse, which it writes to standard error.
enum FuseLog {
    /// The lock of `capturingStandardError`.
    private static let lock = DispatchSemaphore(value: 1)

    /// Writes a line to standard error.
    static func log(_ line: String) { writeToStandardError(line + "\n") }

    /// Runs `body`, and returns its result and the text written to standard error during the call.
    ///
    /// libfuse starts fusermount3, which inherits standard error and reports errors only there ("user has no write
    /// access to mountpoint"). If fusermount3 is missing, libfuse reports that only there, too. Descriptor 2 belongs to
    /// the whole process: the text includes what other threads write in this short time. So a caller that does not
    /// report the text has to pass it on with `writeToStandardError`. If descriptor 2 is closed, nothing is captured.
    static func capturingStandardError<Result>(_ body: () -> Result) -> (Result, String) {
        lock.wait()
        defer { lock.signal() }
        let original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        let capture = cfuse_memory_file("fuse-messages")
        defer {
            if original >= 0 { close(original) }
            if capture >= 0 { close(capture) }
        }
        guard original >= 0, capture >= 0, dup2(capture, STDERR_FILENO) >= 0 else { return (body(), "") }
        let result = body()
        dup2(original, STDERR_FILENO)
        lseek(capture, 0, SEEK_SET)
        return (result, String(decoding: readAll(capture) ?? [], as: UTF8.self))
    }

    static func writeToStandardError(_ text: String) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }
}
