internal import CFuse
import Glibc
import Synchronization

/// libfuse's session and what its callbacks need.
///
/// Lifetime: kept by the `Session`, its threads and every unanswered `Request`; so a request may be answered, into the
/// void, after the filesystem is gone. libfuse gets an unretained pointer to this object as the session's user data,
/// which is safe because callbacks run only on threads that keep the object: those of the loop, and one that registers
/// an interrupt handler with the request in its hands.
final class SessionCore: Sendable {
    let operations: any FilesystemOperations
    let options: SessionOptions
    let interrupts = InterruptTable()
    private let stopped = Atomic(false)
    /// Agreed upon, and the answer that says so not yet sent; see `SessionIO`.
    private let parallelDirectories = Atomic(false)

    /// `struct fuse_session *`; nil only if libfuse refused the options.
    ///
    /// `nonisolated(unsafe)`: written in `init` alone, before any other thread can know of the object. libfuse's
    /// functions on a session that are used here may be called from any thread.
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
            throw SessionError(.options, SessionCore.explain(lines, "libfuse refused the options"))
        }
        self.handle = handle
    }

    deinit {
        // The table has no destroy function, so that nothing is called back here. Closes the descriptor.
        if let handle { fuse_session_destroy(handle) }
    }

    var wantsParallelDirectories: Bool { parallelDirectories.load(ordering: .relaxed) }

    func wantParallelDirectories(_ want: Bool) {
        parallelDirectories.store(want, ordering: .relaxed)
    }

    /// Whether the loop's threads are to leave it, each after the request that it handles.
    var isStopped: Bool { stopped.load(ordering: .acquiring) }

    func stop() {
        stopped.store(true, ordering: .releasing)
    }

    /// The core that libfuse's user data points to.
    static func of(_ request: OpaquePointer) -> SessionCore {
        of(userData: fuse_req_userdata(request))
    }

    static func of(userData: UnsafeMutableRawPointer) -> SessionCore {
        Unmanaged<SessionCore>.fromOpaque(userData).takeUnretainedValue()
    }

    /// libfuse's messages as one line: `fuse: ` says nothing in an error of this binding.
    static func explain(_ lines: [String], _ otherwise: String) -> String {
        let texts = lines.map { $0.hasPrefix("fuse: ") ? String($0.dropFirst(6)) : $0 }
        return texts.isEmpty ? otherwise : texts.joined(separator: "; ")
    }
}
