import Glibc
internal import Platform

/// Unmounting of FUSE filesystems.
package enum Unmount {
    /// Unmounts the filesystem at `path`; with `detach` even if it is busy. It is not an error if umount2(2) reports
    /// that nothing is mounted there. The error has `isBusy` if the filesystem is busy.
    package static func perform(_ path: String, detach: Bool) throws(SessionError) {
        let flags = Int32(UMOUNT_NOFOLLOW) | (detach ? Int32(MNT_DETACH) : 0)
        if umount2(path, flags) == 0 { return }
        switch errno {
        case EPERM: try throughHelper(path, detach: detach)
        case EBUSY: throw SessionError("\(path) is in use", isBusy: true)
        // Another process has unmounted it in the meantime.
        case EINVAL, ENOENT: return
        case let code: throw SessionError("cannot unmount \(path): \(errnoText(code))")
        }
    }

    /// Unmounts with the set-user-ID program fusermount3(1), which lets users unmount their own filesystems.
    private static func throughHelper(_ path: String, detach: Bool) throws(SessionError) {
        let before = MountEntry.at(path)?.device
        let arguments = ["fusermount3", "-u", "-q"] + (detach ? ["-z"] : []) + ["--", path]
        let status: Int32
        do {
            // fusermount3 needs no environment, and the loader of a set-user-ID program ignores variables
            // such as LD_LIBRARY_PATH.
            status = waitForExit(of: try ProcessSpawner("fusermount3", arguments, environment: [:]).start())
        } catch {
            throw SessionError(
                "cannot unmount \(path): fusermount3 cannot be run (\(error)); install the package fuse3")
        }
        if status == 0 || MountEntry.at(path)?.device != before { return }
        // fusermount3 does not report the reason. If the user owns the mount, the only reason is that it is busy.
        throw detach
            ? SessionError("cannot unmount \(path): fusermount3 failed")
            : SessionError("\(path) is in use", isBusy: true)
    }

    /// Aborts a FUSE connection, so that every request to the mount fails with ECONNABORTED. Does nothing if fusectl is
    /// not mounted.
    static func abort(connection: UInt32) {
        let descriptor = open("/sys/fs/fuse/connections/\(connection)/abort", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = write(descriptor, "1", 1)
    }
}

/// The signal that interrupts read(2) in the threads of a session's loop.
///
/// SIGURG is ignored by default, so it has no effect if it arrives before the handler is installed. The handler does
/// nothing; it is installed without SA_RESTART, so that read(2) returns EINTR. The program must not use SIGURG for
/// anything else.
enum WakeSignal {
    static let number = SIGURG

    private static let installed: Void = {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigemptyset(&action.sa_mask)
        sigaction(number, &action, nil)
    }()

    static func install() { _ = installed }

    /// Unblocks the signal for the calling thread. Threads inherit the mask of their creator, which may block it.
    static func unblock() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
}
