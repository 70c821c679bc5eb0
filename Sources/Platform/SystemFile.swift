import Glibc

/// Access to small files of /proc and /sys.
package enum SystemFile {
    /// Returns the content; `nil` if the file cannot be read. Invalid UTF-8 is replaced.
    package static func contents(_ path: String) -> String? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return readAll(descriptor).map { String(decoding: $0, as: UTF8.self) }
    }
}
