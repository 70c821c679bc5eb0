internal import Glibc

/// Writes all bytes to a descriptor.
///
/// - Returns: `false` on failure, with the reason in errno.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var done = 0
    while done < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let count = retryingInterrupts { write(descriptor, rest.baseAddress, rest.count) }
        guard count >= 0 else { return false }
        done += count
    }
    return true
}

/// Writes all bytes of an array to a descriptor.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { writeAll($0, to: descriptor) }
}

/// Sends bytes on a socket until all are sent, a non-blocking socket's buffer is full, or the call fails. A closed
/// connection raises no SIGPIPE.
///
/// - Parameter flags: Further flags of send(2).
/// - Returns: The number of bytes sent. If that is less than `bytes.count`, errno has the reason.
package func sendAll(_ bytes: UnsafeRawBufferPointer, to socket: Int32, flags: Int32 = 0) -> Int {
    var done = 0
    while done < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let count = retryingInterrupts { send(socket, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL) | flags) }
        guard count >= 0 else { break }
        done += count
    }
    return done
}

/// Reads until the end of the file, or until more than `limit` bytes have been read.
///
/// - Returns: The bytes; more than `limit` if the file is longer than that. `nil` on failure, with the reason in errno.
package func readAll(_ descriptor: Int32, limit: Int = .max) -> [UInt8]? {
    var bytes: [UInt8] = []
    let hasSucceeded = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
        while bytes.count <= limit {
            let count = retryingInterrupts { read(descriptor, buffer.baseAddress, buffer.count) }
            guard count > 0 else { return count == 0 }
            bytes.append(contentsOf: buffer[..<count])
        }
        return true
    }
    return hasSucceeded ? bytes : nil
}

/// Repeats a system call while it fails with EINTR.
///
/// - Returns: The result of the last call. If it is -1, errno is that of this call.
package func retryingInterrupts<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        if result == -1, errno == EINTR { continue }
        return result
    }
}

/// Waits until a child process exits, and returns its wait status; 0 if `child` is not a child of this process. The
/// corresponding C function is `waitpid`.
package func waitForExit(of child: Int32) -> Int32 {
    var status: Int32 = 0
    _ = retryingInterrupts { waitpid(child, &status, 0) }
    return status
}

/// Starts a thread that waits until a child process exits, so that the child does not stay as a zombie.
package func reapInBackground(_ child: Int32) { startThread("podfs-reap") { _ = waitForExit(of: child) } }

/// Returns the text of an error number. The corresponding C function is `strerror`.
package func errnoText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

/// Access to small files of /proc and /sys.
package enum SystemFile {
    /// Returns the content, or at least its first `limit` bytes; `nil` if the file cannot be read. Invalid UTF-8 is
    /// replaced.
    package static func contents(_ path: String, limit: Int = .max) -> String? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return readAll(descriptor, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Returns the names in a folder, including `.` and `..`; `nil` if the folder cannot be read.
package func names(inFolder path: String) -> [String]? {
    guard let folder = opendir(path) else { return nil }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        // An entry ends after its name (d_reclen), often before the end of the declared array `d_name`. So the array
        // must not be copied.
        let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
        names.append(String(cString: name.assumingMemoryBound(to: CChar.self)))
    }
    return names
}
