internal import CFuse
import Glibc

/// The functions by which a session reads requests and writes replies, on /dev/fuse. They are passed to
/// `fuse_session_custom_io`.
///
/// They exist because libfuse before 3.17 does not set FUSE_PARALLEL_DIROPS in its INIT reply, although its API accepts
/// the capability. Without the flag the kernel sends one lookup or listing at a time for each folder. These versions
/// also do not know FUSE_PASSTHROUGH. Both flags are added to the INIT reply here. The functions are C function
/// pointers, which capture nothing, so they find the session through the user data; see `SessionCore`.
enum SessionIO {
    static let device: fuse_custom_io = {
        var io = fuse_custom_io()
        io.writev = { descriptor, vector, count, userData in
            SessionIO.amend(vector, count, userData)
            return writev(descriptor, vector, count)
        }
        io.read = { descriptor, buffer, size, _ in read(descriptor, buffer, size) }
        return io
    }()

    static func amend(
        _ vector: UnsafeMutablePointer<iovec>?, _ count: Int32, _ userData: UnsafeMutableRawPointer?
    ) {
        guard count == 2, let vector, let userData else { return }
        SessionCore.of(userData: userData).amend(UnsafeMutableBufferPointer(start: vector, count: 2))
    }
}

extension SessionCore {
    /// Adds FUSE_PARALLEL_DIROPS and FUSE_PASSTHROUGH to the INIT reply, which is the first message that consists of a
    /// header and a `fuse_init_out`. Does nothing for any other message.
    fileprivate func amend(_ message: UnsafeMutableBufferPointer<iovec>) {
        guard isInitPending, message[1].iov_len == MemoryLayout<fuse_init_out>.size,
            let body = message[1].iov_base?.assumingMemoryBound(to: fuse_init_out.self)
        else { return }
        let initReply = finishInit()
        if initReply.parallelDirectories { body.pointee.flags |= UInt32(FUSE_PARALLEL_DIROPS) }
        guard initReply.stackDepth > 0 else { return }
        body.pointee.flags |= CFUSE_INIT_EXT
        body.pointee.flags2 |= CFUSE_PASSTHROUGH_FLAG2
        cfuse_set_stack_depth(body, initReply.stackDepth)
    }
}
