internal import CLinux
internal import Glibc

/// A counter of consecutive starts of the daemon that did not become ready: the size of a file that is removed when one
/// does.
///
/// Corrupt data in the library may crash the daemon. After two failed starts the whole library is therefore checked.
struct StartMarker {
    let path: String

    /// Records a start.
    ///
    /// - Returns: the number of earlier starts that did not become ready; 0 if it cannot be determined.
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
