internal import CLinux
internal import Glibc

/// Counts the daemons that did not become ready: a byte for each in a file that goes when one does.
///
/// Bytes that a disk has spoilt may be what each of them dies of; and the next, unless it looks the library over.
struct StartMarker {
    let path: String

    /// A daemon begins.
    ///
    /// - Returns: how many before it have begun and never become ready.
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

    /// It is ready.
    func end() { unlink(path) }
}
