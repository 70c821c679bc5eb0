internal import CFuse
import Glibc
import SystemPackage

/// libfuse's table of callbacks; translates C arguments for `FilesystemOperations`.
///
/// The closures capture nothing, and are formed in code that is isolated to no actor: closures formed in an actor's
/// function would check, on libfuse's thread, that they run on that actor, and trap. A nil request, which libfuse never
/// passes, is ignored.
enum OperationTable {
    static func make() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        addNodes(&table)
        addFiles(&table)
        addFolders(&table)
        addExtendedAttributes(&table)
        addRefusals(&table)
        return table
    }

    private static func addNodes(_ table: inout fuse_lowlevel_ops) {
        // No destroy: the kernel sends it for block devices only, and libfuse calls it when the session is freed, which
        // may be long after; `Session.run(threads:)` calls the operation instead.
        table.`init` = { userData, info in
            guard let userData, let info else { return }
            let core = SessionCore.of(userData: userData)
            let isAdministrator = Privilege.isAdministrator
            var connection = Connection(
                negotiating: &info.pointee, options: core.options,
                allowance: .current(isPrivileged: isAdministrator))
            connection.passthrough = core.settlePassthrough(isAdministrator: isAdministrator)
            core.wantParallelDirectories(info.pointee.want & UInt32(FUSE_CAP_PARALLEL_DIROPS) != 0)
            core.operations.initialize(connection)
        }
        table.lookup = { request, parent, name in
            guard let request else { return }
            let core = SessionCore.of(request)
            guard let name = OperationTable.text(name) else {
                Request(request, core).reply(error: .noSuchFileOrDirectory)
                return
            }
            core.operations.lookup(Request(request, core), parent: NodeID(rawValue: parent), name: name)
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
            guard let request else { return }
            let core = SessionCore.of(request)
            let handle = (info?.pointee.fh).map(FileHandle.init(rawValue:))
            core.operations.getattr(Request(request, core), node: NodeID(rawValue: node), handle: handle)
        }
        table.setattr = { request, node, status, mask, info in
            guard let request, let status else { return }
            let core = SessionCore.of(request)
            let handle = (info?.pointee.fh).map(FileHandle.init(rawValue:))
            core.operations.setattr(
                Request(request, core), node: NodeID(rawValue: node),
                changes: AttributeChanges(status.pointee, mask: mask), handle: handle)
        }
        table.readlink = { request, node in
            guard let request else { return }
            let core = SessionCore.of(request)
            core.operations.readlink(Request(request, core), node: NodeID(rawValue: node))
        }
        table.access = { request, node, mask in
            guard let request else { return }
            let core = SessionCore.of(request)
            core.operations.access(Request(request, core), node: NodeID(rawValue: node), mask: mask)
        }
        table.statfs = { request, node in
            guard let request else { return }
            let core = SessionCore.of(request)
            core.operations.statfs(Request(request, core), node: NodeID(rawValue: node))
        }
    }

    private static func addFiles(_ table: inout fuse_lowlevel_ops) {
        table.open = { request, node, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            let flags = info.pointee.flags
            guard flags & O_ACCMODE == O_RDONLY, flags & O_TRUNC == 0 else {
                Request(request, core).reply(error: .readOnlyFileSystem)
                return
            }
            core.operations.open(Request(request, core), node: NodeID(rawValue: node), flags: flags)
        }
        table.read = { request, node, size, offset, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            core.operations.read(
                Request(request, core), node: NodeID(rawValue: node), handle: FileHandle(rawValue: info.pointee.fh),
                offset: Int64(offset), size: size)
        }
        table.flush = { request, node, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            core.operations.flush(
                Request(request, core), node: NodeID(rawValue: node), handle: FileHandle(rawValue: info.pointee.fh))
        }
        table.release = { request, node, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            core.operations.release(
                Request(request, core), node: NodeID(rawValue: node), handle: FileHandle(rawValue: info.pointee.fh))
        }
        table.lseek = { request, node, offset, whence, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            // The kernel sends no other values (fuse_file_llseek in fs/fuse/file.c).
            guard let target = SeekTarget(whence: whence) else {
                Request(request, core).reply(error: .invalidArgument)
                return
            }
            core.operations.lseek(
                Request(request, core), node: NodeID(rawValue: node), handle: FileHandle(rawValue: info.pointee.fh),
                offset: Int64(offset), target: target)
        }
    }

    private static func addFolders(_ table: inout fuse_lowlevel_ops) {
        table.opendir = { request, node, _ in
            guard let request else { return }
            let core = SessionCore.of(request)
            core.operations.opendir(Request(request, core), node: NodeID(rawValue: node))
        }
        table.readdir = { request, node, size, offset, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            let page = DirectoryPage(
                handle: FileHandle(rawValue: info.pointee.fh), offset: UInt64(bitPattern: Int64(offset)), size: size,
                withAttributes: false)
            core.operations.readdir(Request(request, core), node: NodeID(rawValue: node), page: page)
        }
        table.readdirplus = { request, node, size, offset, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            let page = DirectoryPage(
                handle: FileHandle(rawValue: info.pointee.fh), offset: UInt64(bitPattern: Int64(offset)), size: size,
                withAttributes: true)
            core.operations.readdirplus(Request(request, core), node: NodeID(rawValue: node), page: page)
        }
        table.releasedir = { request, node, info in
            guard let request, let info else { return }
            let core = SessionCore.of(request)
            core.operations.releasedir(
                Request(request, core), node: NodeID(rawValue: node), handle: FileHandle(rawValue: info.pointee.fh))
        }
    }

    private static func addExtendedAttributes(_ table: inout fuse_lowlevel_ops) {
        table.getxattr = { request, node, name, capacity in
            guard let request else { return }
            let core = SessionCore.of(request)
            guard let name = OperationTable.text(name) else {
                Request(request, core).reply(error: .noData)
                return
            }
            core.operations.getxattr(
                Request(request, core), node: NodeID(rawValue: node), name: name, capacity: capacity)
        }
        table.setxattr = { request, node, name, value, size, flags in
            guard let request else { return }
            let core = SessionCore.of(request)
            guard let name = OperationTable.text(name) else {
                Request(request, core).reply(error: .invalidArgument)
                return
            }
            core.operations.setxattr(
                Request(request, core), node: NodeID(rawValue: node), name: name,
                value: UnsafeRawBufferPointer(start: value, count: size), flags: flags)
        }
        table.listxattr = { request, node, capacity in
            guard let request else { return }
            let core = SessionCore.of(request)
            core.operations.listxattr(Request(request, core), node: NodeID(rawValue: node), capacity: capacity)
        }
        table.removexattr = { request, node, name in
            guard let request else { return }
            let core = SessionCore.of(request)
            guard let name = OperationTable.text(name) else {
                Request(request, core).reply(error: .noData)
                return
            }
            core.operations.removexattr(Request(request, core), node: NodeID(rawValue: node), name: name)
        }
    }

    /// Adds handlers for requests that would change the filesystem. Without them libfuse would reply ENOSYS, "function
    /// not implemented".
    private static func addRefusals(_ table: inout fuse_lowlevel_ops) {
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
        table.copy_file_range = { request, _, _, _, _, _, _, _, _ in _ = fuse_reply_err(request, EROFS) }
    }

    private static func text(_ name: UnsafePointer<CChar>?) -> String? {
        name.flatMap { String(validatingCString: $0) }
    }
}

extension AttributeChanges {
    /// Copies the members of `status` that `mask` (FUSE_SET_ATTR_*) marks as valid.
    init(_ status: stat, mask: Int32) {
        func has(_ bit: Int32) -> Bool { mask & bit != 0 }
        func time(_ given: Int32, _ now: Int32, _ value: timespec) -> Time? {
            if has(now) { return .now }
            guard has(given) else { return nil }
            return .at(Timestamp(seconds: Int64(value.tv_sec), nanoseconds: Int32(truncatingIfNeeded: value.tv_nsec)))
        }
        self.init(
            permissions: has(FUSE_SET_ATTR_MODE) ? UInt16(status.st_mode & 0o7777) : nil,
            uid: has(FUSE_SET_ATTR_UID) ? status.st_uid : nil, gid: has(FUSE_SET_ATTR_GID) ? status.st_gid : nil,
            size: has(FUSE_SET_ATTR_SIZE) ? Int64(status.st_size) : nil,
            accessed: time(FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, status.st_atim),
            modified: time(FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, status.st_mtim))
    }
}
