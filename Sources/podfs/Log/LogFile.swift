import CLinux
import Glibc

/// A log file of bounded size: when it is full it becomes the old one, in place of the one before, and a new file begins.
struct LogFile: Sendable {
    let path: String
    /// The size from which it is full, in bytes.
    var limit: Int64 = 1 << 20

    /// Where the old one stands.
    var oldPath: String { path + ".1" }

    /// To be called before the file is opened for a new process.
    func rotate() {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) >= limit else {
            return
        }
        rename(path, oldPath)
    }

    /// Continues in a new file when `descriptor` is of this log and that is full. What cannot be done is left: a log that
    /// grows is better than none.
    ///
    /// Several processes may write to one log. The first that finds it full renames it, under a lock on the file itself;
    /// the others find another file at the path and follow.
    func rotate(_ descriptor: Int32) {
        var own = stat()
        guard fstat(descriptor, &own) == 0, own.st_mode & S_IFMT == S_IFREG, Int64(own.st_size) >= limit,
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        // Hooks that run may hold the former file's description, and the lock with it, for long.
        defer { flock(descriptor, LOCK_UN) }
        var there = stat()
        let isThere = lstat(path, &there) == 0
        if isThere, there.st_ino == own.st_ino, there.st_dev == own.st_dev {
            guard rename(path, oldPath) == 0 else { return }
        } else {
            // This log's former file, or another file altogether.
            var old = stat()
            guard stat(oldPath, &old) == 0, old.st_ino == own.st_ino, old.st_dev == own.st_dev else { return }
        }
        let next = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard next >= 0 else { return }
        flock(descriptor, LOCK_UN)
        dup2(next, descriptor)
        close(next)
    }
}
