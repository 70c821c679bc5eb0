import Glibc
internal import Platform

/// Small files of /proc and /sys.
enum SystemFile {
    /// The whole content; nil when it cannot be read. Bytes that are no UTF-8 are replaced.
    static func contents(_ path: String) -> String? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return readAll(descriptor).map { String(decoding: $0, as: UTF8.self) }
    }
}
