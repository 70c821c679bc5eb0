import Glibc

/// Small files of /proc and /sys.
enum SystemFile {
    /// The whole content; nil when it cannot be read. Bytes that are no UTF-8 are replaced.
    static func contents(_ path: String) -> String? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        return withUnsafeTemporaryAllocation(byteCount: 8_192, alignment: 1) { buffer -> String? in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count >= 0 else { return nil }
                if count == 0 { return String(decoding: bytes, as: UTF8.self) }
                bytes.append(contentsOf: buffer[..<count])
            }
        }
    }
}
