internal import CFuse
import SystemPackage

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
            answer(.bytes(value)) { request in
                value.withUnsafeBytes {
                    fuse_reply_buf(request, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
                }
            }
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
