internal import CLinux
internal import Glibc

/// The number of consecutive failed starts of the daemon, stored as the size of a file.
///
/// A start has failed if the daemon did not become ready. When the daemon is ready, it removes the file. Corrupt data
/// in the library may crash the daemon, so the whole library is checked after two failed starts.
struct StartMarker {
    let path: String

    /// Records a start.
    ///
    /// - Returns: the number of earlier failed starts; 0 if it cannot be determined.
    @discardableResult
    func begin() -> Int {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return 0 }
        _ = write(descriptor, ".", 1)
        return Int(status.st_size)
    }

    /// Records that the daemon is ready.
    func remove() { unlink(path) }
}
