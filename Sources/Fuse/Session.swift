internal import CFuse
import Glibc

/// A filesystem's connection to the kernel, from mount to unmount.
///
/// In the order of use: `init`, `mount(at:)` or `adopt(descriptor:)`, `run(threads:)`, and `unmount()` from another
/// thread. A session is used once. It has a thread from the beginning on: a process that goes into the background does so before it makes one.
///
/// The process must not open anything in its own mount: it could not end then, nor be killed, since closing such a file
/// asks the process itself.
package final class Session: Sendable {
    /// Tells the kernel of changes.
    package let invalidator: Invalidator
    /// Takes files that the kernel is to read by itself.
    package let backingFiles: BackingFiles

    private let core: SessionCore
    private let state = Monitor(State())

    struct State {
        /// The absolute path, when mounted by path.
        var mountpoint: String?
        /// nil where /proc does not tell.
        var device: MountTable.Device?
        /// Somebody else has mounted it, and given the descriptor.
        var isAdopted = false
        var hasRun = false
        /// The device is given back: its descriptor leads nowhere, and its number may be another's.
        var isClosed = false
        /// The loop is to end: by `unmount()`, or because a thread of it has.
        var isEnding = false
        /// How many threads have left the loop.
        var left = 0
        var failure: SessionError?
    }

    /// Errors: `.options`, `.thread`.
    package init(operations: any FilesystemOperations, options: SessionOptions) throws(SessionError) {
        core = try SessionCore(operations: operations, options: options)
        invalidator = try Invalidator(core: core)
        backingFiles = BackingFiles(core: core)
    }

    /// A session over a socket instead of /dev/fuse, of which a test holds the other end and plays the kernel.
    ///
    /// The socket has to keep messages apart (SOCK_SEQPACKET) and belongs to the session from here on; closing the
    /// other end is the unmount. The corresponding C function is `fuse_session_custom_io`.
    package convenience init(
        operations: any FilesystemOperations, options: SessionOptions, socket: Int32
    ) throws(SessionError) {
        try self.init(operations: operations, options: options)
        do {
            try attach(socket, SessionIO.socket)
        } catch {
            close(socket)
            throw error
        }
    }

    /// Lets libfuse read and write `descriptor` by this binding's functions; from here on it belongs to libfuse's
    /// session.
    private func attach(_ descriptor: Int32, _ io: fuse_custom_io) throws(SessionError) {
        var io = io
        let code = fuse_session_custom_io(core.handle, &io, descriptor)
        guard code == 0 else {
            throw SessionError(.connection, "no session over descriptor \(descriptor): \(describe(-code))")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        // Mounted, but never run.
        if state.withLock({ !$0.hasRun && ($0.mountpoint != nil || $0.isAdopted) }) { closeConnection() }
    }

    /// Mounts the filesystem. The kernel's requests wait until `run(threads:)`.
    ///
    /// Not while another thread of the process starts programs or relies on standard error, which is captured
    /// meanwhile.
    /// Errors: `.mount`, with what libfuse and fusermount3 say. The corresponding C function is `fuse_session_mount`.
    package func mount(at path: String) throws(SessionError) {
        precondition(state.withLock { $0.mountpoint == nil && !$0.isAdopted }, "a session is mounted once")
        // As mountinfo tells it. Should it fail, so does libfuse, with an explanation.
        let absolute = realpath(path, nil)
        defer { free(absolute) }
        let mountpoint = absolute.map { String(cString: $0) } ?? path
        let ((code, lines), text) = FuseLog.capturingStandardError {
            FuseLog.capturing { fuse_session_mount(core.handle, mountpoint) }
        }
        guard code == 0 else {
            let said = lines + text.split(separator: "\n").map(String.init)
            throw SessionError(.mount, Self.explainMount(said, path))
        }
        if !text.isEmpty { FuseLog.writeToStandardError(text) }
        for line in lines { FuseLog.say(line) }
        state.withLock { state in
            state.mountpoint = mountpoint
            state.device = MountTable.device(at: mountpoint)
        }
        try attach(fuse_session_fd(core.handle), SessionIO.device)
    }

    /// Takes over a filesystem that another program has mounted with `fd=N`, by the descriptor of /dev/fuse that it has
    /// handed on: so a process without privileges serves what root has mounted. The descriptor belongs to the session from
    /// here on, and goes to no program that this process starts.
    ///
    /// Options for the kernel were given by whoever has mounted; of this session's `max_read` has to be the same.
    /// Errors: `.mount`. The corresponding C function is `fuse_session_mount` of `/dev/fd/N`.
    package func adopt(descriptor: Int32) throws(SessionError) {
        precondition(state.withLock { $0.mountpoint == nil && !$0.isAdopted }, "a session is mounted once")
        guard Self.isFuseDevice(descriptor) else {
            throw SessionError(.mount, "descriptor \(descriptor) is not an open /dev/fuse")
        }
        let (code, lines) = FuseLog.capturing { fuse_session_mount(core.handle, "/dev/fd/\(descriptor)") }
        guard code == 0 else {
            throw SessionError(.mount, Self.explainMount(lines, "/dev/fd/\(descriptor)"))
        }
        state.withLock { $0.isAdopted = true }
        try attach(fuse_session_fd(core.handle), SessionIO.device)
    }

    /// Whether it is the character device 10:229: MISC_MAJOR of linux/major.h, FUSE_MINOR of linux/miscdevice.h. Numbers
    /// below 256 stand in two bytes (makedev(3)).
    private static func isFuseDevice(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return false }
        return status.st_rdev == 10 << 8 | 229
    }

    private static func explainMount(_ lines: [String], _ path: String) -> String {
        let reason = SessionCore.explain(lines, "no reason is known")
        let remedy =
            if reason.contains("exec fusermount3") {
                " (mounting without privileges needs the package fuse3)"
            } else if reason.contains("open /dev/fuse: Permission denied") {
                // fusermount3 opens the device with the rights of the user who calls it.
                " (you may not open /dev/fuse; as root: chmod 666 /dev/fuse)"
            } else {
                ""
            }
        return "cannot mount at \(path): \(reason)\(remedy)"
    }

    /// Serves requests on `threads` threads until the filesystem is unmounted, by whomever; blocks the calling thread.
    ///
    /// A filesystem that was detached while files were open goes on being served until these are closed, or
    /// `unmount()`. When it returns no operation is called any more, the connection is closed, and no dead mount stays
    /// behind.
    /// Errors: `.thread`, `.connection`.
    package func run(threads count: Int) throws(SessionError) {
        let mayStart = state.withLock { state -> Bool in
            precondition(!state.hasRun, "a session runs once")
            state.hasRun = true
            return !state.isEnding
        }
        var threads: [Thread] = []
        if mayStart {
            WakeSignal.install()
            do {
                for number in 0..<max(1, count) {
                    threads.append(
                        try Thread(name: "fuse-\(number)", signals: [WakeSignal.number]) { [core, state] in
                            Self.serve(core, state)
                        })
                }
            } catch {
                state.withLock { state in
                    state.isEnding = true
                    state.failure = error
                }
            }
        }
        if !threads.isEmpty {
            state.wait { $0.isEnding ? () : nil }
            core.stop()
            // Not by an unmount: libfuse gave up when the connection was made.
            if fuse_session_exited(core.handle) != 0, isConnected {
                state.withLock { state in
                    state.failure = SessionError(.connection, "kernel and libfuse could not agree on the protocol")
                }
            }
            // A signal that comes just before a thread enters read(2) is lost; so it is sent until the thread has left.
            repeat {
                for thread in threads { thread.kill(WakeSignal.number) }
            } while state.wait(milliseconds: 20) { [all = threads.count] in $0.left == all ? () : nil } == nil
            for thread in threads { thread.join() }
        }
        closeConnection()
        core.operations.destroy()
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// One thread of the loop.
    private static func serve(_ core: SessionCore, _ state: Monitor<State>) {
        // libfuse allocates the memory at the first request: a little more than 1 MiB, of which the kernel touches what
        // it needs.
        var buffer = fuse_buf()
        defer { free(buffer.mem) }
        var failure: SessionError?
        while !core.isStopped, fuse_session_exited(core.handle) == 0 {
            let size = fuse_session_receive_buf(core.handle, &buffer)
            if size == -EINTR || size == -EAGAIN { continue }
            guard size > 0, let memory = buffer.mem else {
                if size < 0 { failure = SessionError(.connection, "cannot read requests: \(describe(-size))") }
                break
            }
            ThreadMemory.current.pointee.requestID = memory.load(
                fromByteOffset: MemoryLayout<fuse_in_header>.offset(of: \.unique) ?? 8, as: UInt64.self)
            core.look(at: UnsafeRawBufferPointer(start: memory, count: Int(size)))
            fuse_session_process_buf(core.handle, &buffer)
        }
        state.withLock { state in
            state.isEnding = true
            state.left += 1
            if state.failure == nil { state.failure = failure }
        }
    }

    /// Unmounts the filesystem and ends `run(threads:)`. From any thread but one that handles a request; may be
    /// repeated.
    ///
    /// Requests that are parked should be answered before: readers that wait hold the filesystem busy. When it is in
    /// use it is detached: it vanishes from its place, and who has files open gets errors. With `detachIfBusy` false it
    /// stays as it was and the error is `.busy`. Any other error, `.unmount`, means that the mount is left behind
    /// although the loop ends.
    ///
    /// Nothing is unmounted but this very filesystem: if it is gone and another is at its place, that one stays.
    /// The corresponding C function is `umount2`, or without privileges `fusermount3 -u`.
    package func unmount(detachIfBusy: Bool = true) throws(SessionError) {
        var failure: SessionError?
        if let mountpoint = currentMountpoint() {
            do {
                try Self.unmount(mountpoint, detachIfBusy: detachIfBusy)
            } catch {
                if error.code == .busy { throw error }
                failure = error
            }
        }
        state.withLock { $0.isEnding = true }
        if let failure { throw failure }
    }

    private static func unmount(_ mountpoint: String, detachIfBusy: Bool) throws(SessionError) {
        do {
            try Unmount.perform(mountpoint, detach: false)
        } catch {
            guard error.code == .busy, detachIfBusy else { throw error }
            try Unmount.perform(mountpoint, detach: true)
        }
    }

    /// Where the filesystem is mounted now; nil if it is not, by what /proc and the connection tell.
    private func currentMountpoint() -> String? {
        findAdopted()
        let (mountpoint, device, isClosed) = state.withLock { ($0.mountpoint, $0.device, $0.isClosed) }
        guard let mountpoint, !isClosed else { return nil }
        if isConnected {
            guard let device else { return mountpoint }
            return MountTable.device(at: mountpoint) == device ? mountpoint : nil
        }
        // Unmounted, and the device number may already be another's; or aborted, and dead in its place: there alone
        // statfs(2) fails with ENOTCONN, without asking anybody.
        var statistics = statvfs()
        guard let device, MountTable.device(at: mountpoint) == device, statvfs(mountpoint, &statistics) != 0,
            errno == ENOTCONN
        else { return nil }
        return mountpoint
    }

    /// Finds out where the filesystem is that was given as a descriptor. Late, since it may be moved, or be mounted after
    /// the descriptor was given; does nothing where the kernel does not tell, or the place is not seen from here.
    private func findAdopted() {
        guard state.withLock({ $0.isAdopted && $0.mountpoint == nil && !$0.isClosed }),
            let connection = MountTable.connection(of: fuse_session_fd(core.handle)),
            let (mountpoint, device) = MountTable.place(ofConnection: connection)
        else { return }
        state.withLock { state in
            state.mountpoint = mountpoint
            state.device = device
        }
    }

    /// Whether the kernel still has the connection; after an unmount or an abort poll(2) tells POLLERR.
    private var isConnected: Bool {
        var descriptor = pollfd(fd: fuse_session_fd(core.handle), events: 0, revents: 0)
        return poll(&descriptor, 1, 0) == 0
    }

    /// Ends the connection and with it every wait of other processes for this filesystem.
    private func closeConnection() {
        if let mountpoint = currentMountpoint() {
            do {
                try Unmount.perform(mountpoint, detach: true)
            } catch {
                FuseLog.say(error.message)
            }
        }
        // From here on libfuse does not complain of answers that cannot be sent.
        fuse_session_exit(core.handle)
        // A message may wait in the kernel for a lock that someone holds who waits for an answer, and the device is not
        // closed before it returns; the abort lets both go.
        if invalidator.close(), isConnected, let device = state.withLock({ $0.device }) {
            Unmount.abort(connection: device.minor)
        }
        // The descriptor's number stays in use until the last request is answered, on whatever thread: closed, the
        // number could be given to another file in the middle of such an answer. What is written from here on goes to
        // /dev/null.
        state.withLock { $0.isClosed = true }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        if null >= 0 {
            _ = cfuse_dup3(null, fuse_session_fd(core.handle), O_CLOEXEC)
            close(null)
        }
        invalidator.drain()
    }
}
