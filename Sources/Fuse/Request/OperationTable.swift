internal import CFuse
import Glibc
import SystemPackage

/// libfuse's table of callbacks. Each callback translates its C arguments and calls `FilesystemOperations`.
///
/// The closures capture nothing, and are created in code that is not isolated to an actor. A closure created in an
/// actor's function would check on libfuse's thread that it runs on that actor, and trap. libfuse never passes a nil
/// request, and `serve` would ignore it.
enum OperationTable {
    static func make() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        // `table.destroy` is not set. The kernel sends FUSE_DESTROY for block devices only, and otherwise libfuse calls
        // the callback when the session is freed, possibly much later.
        table.`init` = { userData, info in
            guard let userData, let info else { return }
            let core = SessionCore.of(userData: userData)
            core.negotiate(&info.pointee, isAdministrator: Privilege.isAdministrator)
            core.operations.initialize()
        }
        table.lookup = { request, parent, name in
            serve(request) { operations, request in
                guard let name = text(name) else { return request.reply(error: .noSuchFileOrDirectory) }
                operations.lookup(request, parent: NodeID(rawValue: parent), name: name)
            }
        }
        table.forget = { request, node, count in
            guard let request else { return }
            SessionCore.of(request).operations.forget(node: NodeID(rawValue: node), count: count)
            fuse_reply_none(request)
        }
        table.forget_multi = { request, count, items in
            guard let request else { return }
            let operations = SessionCore.of(request).operations
            for item in UnsafeBufferPointer(start: items, count: count) {
                operations.forget(node: NodeID(rawValue: item.ino), count: item.nlookup)
            }
            fuse_reply_none(request)
        }
        table.getattr = { request, node, info in
            serve(request) { $0.getattr($1, node: NodeID(rawValue: node), handle: info.map { handle($0) }) }
        }
        table.readlink = { request, node in
            serve(request) { $0.readlink($1, node: NodeID(rawValue: node)) }
        }
        table.access = { request, node, mask in
            serve(request) { $0.access($1, node: NodeID(rawValue: node), mask: mask) }
        }
        table.statfs = { request, node in
            serve(request) { $0.statfs($1, node: NodeID(rawValue: node)) }
        }

        table.open = { request, node, info in
            guard let flags = info?.pointee.flags else { return }
            serve(request) { operations, request in
                guard flags & O_ACCMODE == O_RDONLY, flags & O_TRUNC == 0 else {
                    return request.reply(error: .readOnlyFileSystem)
                }
                operations.open(request, node: NodeID(rawValue: node), flags: flags)
            }
        }
        table.read = { request, node, size, offset, info in
            guard let info else { return }
            serve(request) {
                $0.read($1, node: NodeID(rawValue: node), handle: handle(info), offset: Int64(offset), size: size)
            }
        }
        table.release = { request, node, info in
            guard let info else { return }
            serve(request) { $0.release($1, node: NodeID(rawValue: node), handle: handle(info)) }
        }

        table.opendir = { request, node, _ in
            serve(request) { $0.opendir($1, node: NodeID(rawValue: node)) }
        }
        table.readdir = { list($0, $1, $2, $3, $4, withAttributes: false) }
        table.readdirplus = { list($0, $1, $2, $3, $4, withAttributes: true) }
        table.releasedir = { request, node, info in
            guard let info else { return }
            serve(request) { $0.releasedir($1, node: NodeID(rawValue: node), handle: handle(info)) }
        }

        table.getxattr = { request, node, name, capacity in
            serve(request) { operations, request in
                guard let name = text(name) else { return request.reply(error: .noData) }
                operations.getxattr(request, node: NodeID(rawValue: node), name: name, capacity: capacity)
            }
        }
        table.setxattr = { request, node, name, value, size, flags in
            serve(request) { operations, request in
                guard let name = text(name) else { return request.reply(error: .invalidArgument) }
                operations.setxattr(
                    request, node: NodeID(rawValue: node), name: name,
                    value: UnsafeRawBufferPointer(start: value, count: size), flags: flags)
            }
        }
        table.listxattr = { request, node, capacity in
            serve(request) { $0.listxattr($1, node: NodeID(rawValue: node), capacity: capacity) }
        }

        // Requests that would change the filesystem. Without these handlers libfuse would reply ENOSYS, "function not
        // implemented".
        table.setattr = { request, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.mknod = { request, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.mkdir = { request, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.unlink = { request, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.rmdir = { request, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.symlink = { request, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.rename = { request, _, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.link = { request, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.create = { request, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.write = { request, _, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.fallocate = { request, _, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.removexattr = { request, _, _ in _ = fuse_reply_err(request, EROFS) }
        table.copy_file_range = { request, _, _, _, _, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
        return table
    }
}

// These are free functions, because a callback that calls a static member of `OperationTable` would capture the type.

/// Calls an operation with the request.
private func serve(_ request: OpaquePointer?, _ operation: (any FilesystemOperations, consuming Request) -> Void) {
    guard let request else { return }
    let core = SessionCore.of(request)
    operation(core.operations, Request(request, core))
}

private func list(
    _ request: OpaquePointer?, _ node: UInt64, _ size: Int, _ offset: off_t,
    _ info: UnsafeMutablePointer<fuse_file_info>?, withAttributes: Bool
) {
    guard let info else { return }
    let page = DirectoryPage(
        handle: handle(info), offset: UInt64(bitPattern: Int64(offset)), size: size, withAttributes: withAttributes)
    serve(request) { $0.readdir($1, node: NodeID(rawValue: node), page: page) }
}

private func handle(_ info: UnsafeMutablePointer<fuse_file_info>) -> FileHandle {
    FileHandle(rawValue: info.pointee.fh)
}

/// Returns a name as text; `nil` if it is not valid UTF-8.
private func text(_ name: UnsafePointer<CChar>?) -> String? { name.flatMap { String(validatingCString: $0) } }
