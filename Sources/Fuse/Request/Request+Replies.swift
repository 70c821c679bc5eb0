internal import CFuse
package import SystemPackage

extension Request {
    /// Replies with an error. The corresponding C function is `fuse_reply_err`.
    ///
    /// For many operations, the kernel sends no further request of the same kind after a reply with ENOSYS.
    package consuming func reply(error: Errno) {
        let code = error.rawValue
        answer(.error(error)) { fuse_reply_err($0, code) }
    }

    /// Replies with success and no data. The corresponding C function is `fuse_reply_err` with 0.
    package consuming func replyDone() { answer(.done) { fuse_reply_err($0, 0) } }

    /// Replies to lookup with a node, or a negative entry.
    ///
    /// Returns false if the kernel did not accept the reply, for example because the caller was interrupted. The kernel
    /// has then not incremented the node's lookup count. The corresponding C function is `fuse_reply_entry`.
    @discardableResult
    package consuming func reply(entry: Entry) -> Bool {
        var parameters = entry.parameters
        return answer(.entry(entry)) { fuse_reply_entry($0, &parameters) }
    }

    /// Replies with attributes that the kernel may cache for `timeout` seconds. The corresponding C function is
    /// `fuse_reply_attr`.
    package consuming func reply(attributes: Attributes, timeout: Double) {
        var status = attributes.status
        answer(.attributes(attributes, timeout: timeout)) { fuse_reply_attr($0, &status, timeout) }
    }

    /// Replies to open and opendir.
    ///
    /// Returns false if the kernel did not accept the reply, for example because the caller was interrupted. The kernel
    /// will then send no release for the handle. The corresponding C function is `fuse_reply_open`.
    @discardableResult
    package consuming func reply(open: OpenReply) -> Bool {
        if let backing = open.backing {
            // libfuse before 3.17 has no field for the backing id, so the reply is encoded here.
            var out = open.answer(backing)
            return answer(.open(open)) { request in withUnsafeBytes(of: &out) { Self.send($0, to: request) } }
        }
        var info = open.fileInfo
        return answer(.open(open)) { fuse_reply_open($0, &info) }
    }

    /// Replies to read with bytes. More bytes than requested are a malformed reply, for which the kernel returns EIO.
    /// Fewer bytes mean the end of the file: the kernel then assumes that the file has become shorter, except on a
    /// handle with direct I/O. The corresponding C function is `fuse_reply_buf`.
    package consuming func reply(bytes: UnsafeRawBufferPointer) {
        answer(.bytes(Array(bytes))) { Self.send(bytes, to: $0) }
    }

    static func send(_ bytes: UnsafeRawBufferPointer, to request: OpaquePointer) -> CInt {
        fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }

    /// Replies to read with the bytes that `fill` writes into memory owned by the calling thread.
    ///
    /// `fill` gets `size` bytes of undefined content and returns how many of them it has filled, from the front. If it
    /// throws, the reply is that error. `fill` must not reply to another request with this method, because each thread
    /// has only one such memory block.
    package consuming func reply(upTo size: Int, fill: (UnsafeMutableRawBufferPointer) throws(Errno) -> Int) {
        let memory = ThreadMemory.current.pointee.block(size: size)
        do {
            let count = try fill(memory)
            reply(bytes: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        } catch {
            reply(error: error)
        }
    }

    /// Replies to readlink with the link's target. The corresponding C function is `fuse_reply_readlink`.
    package consuming func reply(link: String) { answer(.link(link)) { fuse_reply_readlink($0, link) } }

    /// Replies to statfs. The corresponding C function is `fuse_reply_statfs`.
    package consuming func reply(statistics: FilesystemStatistics) {
        var status = statistics.cValue
        answer(.statistics(statistics)) { fuse_reply_statfs($0, &status) }
    }
}

/// Replies to getxattr and listxattr.
///
/// Both requests have two forms, distinguished by `capacity`, the size of the caller's buffer: 0 requests the size of
/// the result, any other value the result itself, or ERANGE if it does not fit.
extension Request {
    /// Replies with an attribute's value. The corresponding C functions are `fuse_reply_xattr` and `fuse_reply_buf`.
    package consuming func reply(value: [UInt8], capacity: Int) {
        if capacity == 0 {
            answer(.size(value.count)) { fuse_reply_xattr($0, value.count) }
        } else if value.count > capacity {
            reply(error: .outOfRange)
        } else {
            answer(.bytes(value)) { request in value.withUnsafeBytes { Self.send($0, to: request) } }
        }
    }

    /// Replies with an attribute's value in UTF-8, without a NUL at the end.
    package consuming func reply(value: String, capacity: Int) { reply(value: Array(value.utf8), capacity: capacity) }

    /// Replies with the names of all attributes; none of them may contain a NUL.
    package consuming func reply(attributeNames names: [String], capacity: Int) {
        var list: [UInt8] = []
        for name in names {
            list.append(contentsOf: name.utf8)
            list.append(0)
        }
        reply(value: list, capacity: capacity)
    }
}
