internal import CFuse
import Glibc
import Synchronization

/// libfuse's session and the state that its callbacks need.
///
/// Lifetime: retained by the `Session`, its threads and every unanswered `Request`; so a request may be answered after
/// the filesystem is gone, without effect. libfuse gets an unretained pointer to this object as the session's user
/// data, which is safe because callbacks run only on threads that retain the object: those of the loop, and one that
/// registers an interrupt handler and owns the request.
final class SessionCore: Sendable {
    let operations: any FilesystemOperations
    let options: SessionOptions
    let interrupts = InterruptTable()
    private let stopped = Atomic(false)
    /// Whether the kernel has sent INIT and the reply is not yet sent; see `SessionIO`.
    private let greeting = Atomic(false)
    private let wishes = Mutex(Wishes())
    /// Whether the kernel accepts backing files; false after the first permanent refusal.
    private let passthrough = Atomic(false)

    /// Additions to the INIT reply that libfuse does not make.
    struct Wishes {
        var parallelDirectories = false
        /// The maximum depth of stacked filesystems including this one, the topmost; 0 for no passthrough.
        var stackDepth: UInt32 = 0
        /// Whether the kernel has offered passthrough.
        var isPassthroughOffered = false
    }

    /// `struct fuse_session *`; nil only if libfuse rejected the options.
    ///
    /// `nonisolated(unsafe)`: written only in `init`, before any other thread can access the object. The libfuse
    /// functions used here on a session may be called from any thread.
    nonisolated(unsafe) private(set) var handle: OpaquePointer?

    init(operations: any FilesystemOperations, options: SessionOptions) throws(SessionError) {
        self.operations = operations
        self.options = options
        FuseLog.install()
        var table = OperationTable.make()
        let userData = Unmanaged.passUnretained(self).toOpaque()
        let (handle, lines) = FuseLog.capturing { () -> OpaquePointer? in
            var arguments = fuse_args()
            defer { fuse_opt_free_args(&arguments) }
            for argument in ["fuse"] + options.arguments {
                guard fuse_opt_add_arg(&arguments, argument) == 0 else { return nil }
            }
            return fuse_session_new(&arguments, &table, MemoryLayout<fuse_lowlevel_ops>.size, userData)
        }
        guard let handle else {
            throw SessionError(.options, SessionCore.explain(lines, "libfuse rejected the options"))
        }
        self.handle = handle
    }

    deinit {
        // The table has no destroy function, so this causes no callback. Closes the descriptor.
        if let handle { fuse_session_destroy(handle) }
    }

    var isGreeting: Bool { greeting.load(ordering: .relaxed) }

    func wantParallelDirectories(_ want: Bool) { wishes.withLock { $0.parallelDirectories = want } }

    /// Returns the additions for the INIT reply, which is about to be sent.
    func takeWishes() -> Wishes {
        greeting.store(false, ordering: .relaxed)
        return wishes.withLock { $0 }
    }

    /// Whether the loop's threads must exit, each after its current request.
    var isStopped: Bool { stopped.load(ordering: .acquiring) }

    func stop() {
        stopped.store(true, ordering: .releasing)
    }

    /// Returns the core from libfuse's user data.
    static func of(_ request: OpaquePointer) -> SessionCore {
        of(userData: fuse_req_userdata(request))
    }

    static func of(userData: UnsafeMutableRawPointer) -> SessionCore {
        Unmanaged<SessionCore>.fromOpaque(userData).takeUnretainedValue()
    }

    /// Returns libfuse's messages as one line. The prefix `fuse: ` is redundant in an error of this binding and is
    /// removed.
    static func explain(_ lines: [String], _ otherwise: String) -> String {
        let texts = lines.map { $0.hasPrefix("fuse: ") ? String($0.dropFirst(6)) : $0 }
        return texts.isEmpty ? otherwise : texts.joined(separator: "; ")
    }
}

// MARK: Passthrough

extension SessionCore {
    /// Records the kernel's offers in INIT, which libfuse before 3.17 does not report: called with each request before
    /// libfuse handles it, on the same thread.
    func look(at request: UnsafeRawBufferPointer) {
        let header = MemoryLayout<fuse_in_header>.size
        // `struct fuse_init_in`: major, minor, max_readahead, flags, flags2.
        guard request.count >= 8, request.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == FUSE_INIT.rawValue else {
            return
        }
        greeting.store(true, ordering: .relaxed)
        guard request.count >= header + 20 else { return }
        let flags = request.loadUnaligned(fromByteOffset: header + 12, as: UInt32.self)
        let more = request.loadUnaligned(fromByteOffset: header + 16, as: UInt32.self)
        wishes.withLock { wishes in
            wishes.isPassthroughOffered = flags & CFUSE_INIT_EXT != 0 && more & CFUSE_PASSTHROUGH_FLAG2 != 0
        }
    }

    /// Decides whether to request passthrough: only if the kernel offers it and would accept files from this process.
    func settlePassthrough(isAdministrator: Bool) -> Bool {
        guard let folder = options.backingFolder, isAdministrator, wishes.withLock({ $0.isPassthroughOffered }) else {
            return false
        }
        // On such a filesystem a file is stored in a second one below; otherwise 1, so that others can be stacked on
        // this one: the kernel's maximum is 2 (FILESYSTEM_MAX_STACK_DEPTH).
        let isStacked = Self.stacked.contains(UInt32(truncatingIfNeeded: cfuse_filesystem_type(folder)))
        wishes.withLock { $0.stackDepth = isStacked ? 2 : 1 }
        passthrough.store(true, ordering: .releasing)
        return true
    }

    /// OVERLAYFS_SUPER_MAGIC, ECRYPTFS_SUPER_MAGIC and FUSE_SUPER_MAGIC of linux/magic.h and fs/fuse/inode.c.
    private static let stacked: Set<UInt32> = [0x794c_7630, 0xf15f, 0x6573_5546]

    var takesBackingFiles: Bool { passthrough.load(ordering: .acquiring) }

    func refuseBackingFiles() { passthrough.store(false, ordering: .releasing) }
}
