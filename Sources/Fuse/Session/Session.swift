internal import CFuse
internal import Dispatch
import Glibc
internal import Platform
import Synchronization

/// A filesystem's connection to the kernel, from mount to unmount.
///
/// Call order: `init`, `mount(at:)`, `run(threads:)`, and `unmount()` from another thread. A
/// session is used once. `init` starts a thread, so a process that moves to the background must do so before `init`.
///
/// The process must not open anything in its own mount: it could neither exit nor be killed, since closing such a file
/// sends a request to the process itself.
package final class Session: Sendable {
    /// The version of the libfuse that runs.
    package static var libraryVersion: String { String(cString: fuse_pkgversion()) }

    /// The queue of cache invalidations to the kernel.
    package let invalidator: Invalidator
    /// The registration of files for passthrough.
    package let backingFiles: BackingFiles

    private let core: SessionCore
    private let state = Mutex(State())
    /// Signaled when the loop must exit; see `State.isEnding`.
    private let ending = DispatchSemaphore(value: 0)

    struct State {
        /// The absolute path of the mount point; `nil` if the filesystem is not mounted.
        var mountpoint: String?
        /// The device number of the mount; `nil` if /proc does not contain it.
        var device: MountEntry.Device?
        var hasRun = false
        /// Whether /dev/fuse is closed: its descriptor refers to /dev/null, and the kernel may reuse the mount's device
        /// number.
        var isClosed = false
        /// Whether the loop must exit: after `unmount()`, or because one of its threads has exited.
        var isEnding = false
        /// The threads in the loop.
        var threads: Set<pthread_t> = []
        var failure: SessionError?
    }

    /// Creates a session that is not yet connected to the kernel. Throws if libfuse rejects the options.
    ///
    /// - Parameter backingFolder: The folder of the files that the kernel may read itself (FUSE passthrough; see
    ///   `BackingFiles`). Passthrough is used if the kernel offers it and the process is privileged.
    package init(
        operations: any FilesystemOperations, options: MountOptions, backingFolder: String? = nil
    ) throws(SessionError) {
        core = try SessionCore(operations: operations, options: options, backingFolder: backingFolder)
        invalidator = Invalidator(core: core)
        backingFiles = BackingFiles(core: core)
    }

    /// Makes libfuse use this binding's functions to read and write `descriptor`, which libfuse's session owns from now
    /// on.
    func attach(_ descriptor: Int32, _ io: fuse_custom_io) throws(SessionError) {
        var io = io
        let code = fuse_session_custom_io(core.handle, &io, descriptor)
        guard code == 0 else {
            throw SessionError("cannot create a session on descriptor \(descriptor): \(errnoText(-code))")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        // Mounted, but `run` was never called.
        if state.withLock({ !$0.hasRun && $0.mountpoint != nil }) { closeConnection() }
    }

    /// Mounts the filesystem. The kernel's requests wait until `run(threads:)`.
    ///
    /// Must not be called while another thread of the process starts programs or relies on standard error, which is
    /// captured meanwhile.
    /// Errors have the messages of libfuse and fusermount3. The corresponding C function is `fuse_session_mount`.
    package func mount(at path: String) throws(SessionError) {
        precondition(state.withLock { $0.mountpoint == nil }, "a session is mounted once")
        // mountinfo contains the path without symbolic links. If realpath(3) fails, libfuse's mount fails too, with an
        // explanation.
        let absolute = realpath(path, nil)
        defer { free(absolute) }
        let mountpoint = absolute.map { String(cString: $0) } ?? path
        let (code, text) = FuseLog.capturingStandardError { fuse_session_mount(core.handle, mountpoint) }
        guard code == 0 else { throw SessionError(Self.explainMount(text, path)) }
        FuseLog.writeToStandardError(text)
        state.withLock { state in
            state.mountpoint = mountpoint
            state.device = MountEntry.at(mountpoint)?.device
        }
        try attach(fuse_session_fd(core.handle), SessionIO.device)
    }

    /// Returns the message of a failed mount, with the remedy if known.
    private static func explainMount(_ text: String, _ path: String) -> String {
        let reason = SessionCore.explain(text, "no reason is known")
        let remedy =
            if reason.contains("exec fusermount3") {
                " (mounting without privileges needs the package fuse3)"
            } else if reason.contains("open /dev/fuse: Permission denied") {
                // fusermount3 opens the device with the permissions of the calling user.
                " (you have no permission to open /dev/fuse; as root: chmod 666 /dev/fuse)"
            } else {
                ""
            }
        return "cannot mount at \(path): \(reason)\(remedy)"
    }

    /// Serves requests on `count` threads until the filesystem is unmounted, by any process; blocks the calling thread.
    ///
    /// A filesystem that was detached while files were open is served until these are closed, or until `unmount()`.
    /// When the method returns, no operation will be called, the connection is closed, and no dead mount remains.
    package func run(threads count: Int) throws(SessionError) {
        let mayStart = state.withLock { state -> Bool in
            precondition(!state.hasRun, "a session runs once")
            state.hasRun = true
            return !state.isEnding
        }
        if mayStart {
            WakeSignal.install()
            let left = DispatchGroup()
            for number in 0..<max(1, count) {
                left.enter()
                startThread("fuse-\(number)") { [self] in
                    serve()
                    left.leave()
                }
            }
            ending.wait()
            core.stop()
            // If libfuse has ended the loop although the kernel still has the connection, libfuse gave up during the
            // negotiation.
            if fuse_session_exited(core.handle) != 0, isConnected {
                state.withLock { state in
                    state.failure = SessionError(
                        "the kernel and libfuse support no common version of the FUSE protocol")
                }
            }
            // A signal that arrives just before a thread enters read(2) has no effect, so it is repeated until the
            // thread has left the loop.
            repeat {
                state.withLock { state in for thread in state.threads { pthread_kill(thread, WakeSignal.number) } }
            } while left.wait(timeout: .now() + .milliseconds(20)) == .timedOut
        }
        closeConnection()
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Runs one thread of the loop.
    private func serve() {
        WakeSignal.unblock()
        state.withLock { _ = $0.threads.insert(pthread_self()) }
        // libfuse allocates the buffer at the first request: a little more than 1 MiB. Only the pages that are used
        // become resident.
        var buffer = fuse_buf()
        defer { free(buffer.mem) }
        var failure: SessionError?
        while !core.isStopped, fuse_session_exited(core.handle) == 0 {
            let size = fuse_session_receive_buf(core.handle, &buffer)
            if size == -EINTR || size == -EAGAIN { continue }
            guard size > 0, let memory = buffer.mem else {
                if size < 0 { failure = SessionError("cannot read requests: \(errnoText(-size))") }
                break
            }
            ThreadMemory.current.pointee.requestID = memory.load(
                fromByteOffset: MemoryLayout<fuse_in_header>.offset(of: \.unique) ?? 8, as: UInt64.self)
            core.inspect(UnsafeRawBufferPointer(start: memory, count: Int(size)))
            fuse_session_process_buf(core.handle, &buffer)
        }
        state.withLock { state in
            state.isEnding = true
            state.threads.remove(pthread_self())
            if state.failure == nil { state.failure = failure }
        }
        ending.signal()
    }

    /// Unmounts the filesystem and makes `run(threads:)` return. May be called from any thread that does not handle a
    /// request; may be repeated.
    ///
    /// Answer parked requests first: waiting readers make the filesystem busy. A busy filesystem is detached: it
    /// disappears from its mount point, and programs with open files get errors. An error means that the mount remains
    /// although the loop exits.
    ///
    /// Only this filesystem is unmounted. If another one is mounted at its path by now, that one stays mounted.
    /// The corresponding C function is `umount2`, or without privileges `fusermount3 -u`.
    package func unmount() throws(SessionError) {
        defer {
            state.withLock { $0.isEnding = true }
            ending.signal()
        }
        guard let mountpoint = currentMountpoint() else { return }
        do {
            try Unmount.perform(mountpoint, detach: false)
        } catch {
            guard error.isBusy else { throw error }
            try Unmount.perform(mountpoint, detach: true)
        }
    }

    /// Returns the current mount point, according to /proc and the state of the connection; `nil` if the filesystem is
    /// not mounted.
    private func currentMountpoint() -> String? {
        let (mountpoint, device, isClosed) = state.withLock { ($0.mountpoint, $0.device, $0.isClosed) }
        guard let mountpoint, !isClosed else { return nil }
        if isConnected {
            guard let device else { return mountpoint }
            return MountEntry.at(mountpoint)?.device == device ? mountpoint : nil
        }
        // The filesystem is either unmounted, and its device number may have been reused, or aborted and still mounted.
        // Only if it is aborted does statvfs(3) fail with ENOTCONN, without a request to any process.
        var statistics = statvfs()
        guard let device, MountEntry.at(mountpoint)?.device == device, statvfs(mountpoint, &statistics) != 0,
            errno == ENOTCONN
        else { return nil }
        return mountpoint
    }

    /// Whether the kernel still has the connection; after an unmount or an abort poll(2) reports POLLERR.
    private var isConnected: Bool {
        var descriptor = pollfd(fd: fuse_session_fd(core.handle), events: 0, revents: 0)
        return poll(&descriptor, 1, 0) == 0
    }

    /// Unmounts the filesystem if necessary and closes the connection, so that no process waits for it any more.
    private func closeConnection() {
        if let mountpoint = currentMountpoint() {
            do {
                try Unmount.perform(mountpoint, detach: true)
            } catch {
                FuseLog.log(error.description)
            }
        }
        // From now on libfuse does not log replies that cannot be sent.
        fuse_session_exit(core.handle)
        // An invalidation may wait in the kernel for a lock whose holder waits for a reply. The kernel does not close
        // the device before the invalidation returns. The abort fails the holder's request, so that the holder releases
        // the lock and the invalidation returns.
        if invalidator.stopSending(), isConnected, let device = state.withLock({ $0.device }) {
            Unmount.abort(connection: device.minor)
        }
        // The descriptor stays open until the last request is answered, on any thread: otherwise its number could be
        // reused for another file during such a reply. Later writes go to /dev/null.
        state.withLock { $0.isClosed = true }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        if null >= 0 {
            _ = cfuse_dup3(null, fuse_session_fd(core.handle), O_CLOEXEC)
            close(null)
        }
        invalidator.drain()
    }
}

/// The error of a mount, of a session, or of an unmount.
package struct SessionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether the filesystem is in use, and detaching it was not requested.
    package let isBusy: Bool
    /// The error in one line, with the text of libfuse, fusermount3 or the C library if there is one, and the remedy if
    /// known.
    package let description: String

    init(_ description: String, isBusy: Bool = false) {
        self.isBusy = isBusy
        self.description = description
    }
}
