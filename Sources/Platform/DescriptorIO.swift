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
