internal import CFuse
package import SystemPackage

extension Request {
    /// The operation failed. The corresponding C function is `fuse_reply_err`.
    ///
    /// ENOSYS is special for many operations: the kernel never asks for that one again.
    package consuming func reply(error: Errno) {
        let code = error.rawValue
        answer(.error(error)) { fuse_reply_err($0, code) }
    }

    /// The operation is done and has nothing to tell. The corresponding C function is `fuse_reply_err` with 0.
    package consuming func replyDone() {
        answer(.done) { fuse_reply_err($0, 0) }
    }

    /// The answer to lookup: a name's node, or a negative entry.
    ///
    /// False if the kernel did not take it (the caller was interrupted): then the node's lookup count has not grown.
    /// The corresponding C function is `fuse_reply_entry`.
    @discardableResult
    package consuming func reply(entry: Entry) -> Bool {
        var parameters = entry.parameters
        return answer(.entry(entry)) { fuse_reply_entry($0, &parameters) }
    }

    /// Attributes that the kernel may believe for `timeout` seconds. The corresponding C function is `fuse_reply_attr`.
    package consuming func reply(attributes: Attributes, timeout: Double) {
        var status = attributes.status
        answer(.attributes(attributes, timeout: timeout)) { fuse_reply_attr($0, &status, timeout) }
    }

    /// The file or folder is open.
    ///
    /// False if the kernel did not take it (the caller was interrupted): then no release will come for the handle.
    /// The corresponding C function is `fuse_reply_open`.
    @discardableResult
    package consuming func reply(open: OpenReply) -> Bool {
        if let backing = open.backing {
            // libfuse before 3.17 has no field for the id.
            var out = open.answer(backing)
            return answer(.open(open)) { request in
                withUnsafeBytes(of: &out) { bytes in
                    fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
                }
            }
        }
        var info = open.fileInfo
        return answer(.open(open)) { fuse_reply_open($0, &info) }
    }

    /// The bytes of a read; never more than were asked for, which the kernel takes for a broken answer (EIO). Fewer
    /// than were asked for mean the end of the file, except on a handle with direct I/O: of a short answer the kernel
    /// concludes that the file has become shorter. The corresponding C function is `fuse_reply_buf`.
    package consuming func reply(bytes: UnsafeRawBufferPointer) {
        answer(.bytes(Array(bytes))) {
            fuse_reply_buf($0, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
    }

    /// The bytes of a read, put by `fill` into memory that the calling thread keeps for this purpose.
    ///
    /// `fill` gets `size` bytes of undefined content and returns how many of them it has filled, from the front; what
    /// it throws becomes the answer. It must not answer another request in this way itself.
    package consuming func reply(
        upTo size: Int, fill: (UnsafeMutableRawBufferPointer) throws(Errno) -> Int
    ) {
        let memory = ThreadMemory.current.pointee.take(size: size)
        do {
            let count = try fill(memory)
            reply(bytes: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        } catch {
            reply(error: error)
        }
    }

    /// Where a symbolic link points to. The corresponding C function is `fuse_reply_readlink`.
    package consuming func reply(link: String) {
        answer(.link(link)) { fuse_reply_readlink($0, link) }
    }

    /// The corresponding C function is `fuse_reply_statfs`.
    package consuming func reply(statistics: FilesystemStatistics) {
        var status = statistics.status
        answer(.statistics(statistics)) { fuse_reply_statfs($0, &status) }
    }

    /// The answer to lseek: the offset found. The corresponding C function is `fuse_reply_lseek`.
    package consuming func reply(offset: Int64) {
        answer(.offset(offset)) { fuse_reply_lseek($0, off_t(offset)) }
    }

    /// The answer to lseek by a filesystem that calls every file data from the first to the last of its `size` bytes.
    ///
    /// The only hole is the one that lseek(2) sees at the end of each file; at and beyond the end there is nothing:
    /// ENXIO.
    package consuming func reply(seeking target: SeekTarget, from offset: Int64, size: Int64) {
        guard offset >= 0, offset < size else {
            reply(error: .noSuchAddressOrDevice)
            return
        }
        reply(offset: target == .data ? offset : size)
    }
}

/// What lseek(2) looks for: SEEK_DATA or SEEK_HOLE.
package enum SeekTarget: Sendable, Hashable {
    case data
    case hole

    /// SEEK_DATA and SEEK_HOLE are 3 and 4 in linux/fs.h; glibc's header hides them without _GNU_SOURCE.
    init?(whence: Int32) {
        switch whence {
        case 3: self = .data
        case 4: self = .hole
        default: return nil
        }
    }
}
