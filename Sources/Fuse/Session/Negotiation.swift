internal import CFuse
internal import Platform

extension SessionCore {
    /// The number of unanswered background requests for which a session asks. They include reads through the page
    /// cache: with the kernel's default of 12, twelve readers that wait for a stalled server would block all reads of
    /// the mount.
    private static let maxBackground = 4_096

    /// Sets the parameters of a session, called once for each from libfuse's init callback.
    ///
    /// - Parameter isAdministrator: Whether the process has CAP_SYS_ADMIN.
    func negotiate(_ info: inout fuse_conn_info, isAdministrator: Bool) {
        func set(_ capability: Int32, _ on: Bool) {
            if on && info.capable & UInt32(capability) != 0 {
                info.want |= UInt32(capability)
            } else {
                info.want &= ~UInt32(capability)
            }
        }
        // The kernel reduces the number to its limit.
        info.max_background = UInt32(Self.maxBackground)
        if let maxRead = options.maxRead { info.max_read = maxRead }

        // Replies are written from memory, because splicing was measured slower, and moving pages much slower.
        set(FUSE_CAP_SPLICE_READ, false)
        set(FUSE_CAP_SPLICE_WRITE, false)
        set(FUSE_CAP_SPLICE_MOVE, false)
        // The filesystem invalidates cached pages explicitly. A changed mtime must not invalidate them.
        set(FUSE_CAP_AUTO_INVAL_DATA, false)
        set(FUSE_CAP_EXPLICIT_INVAL_DATA, true)
        set(FUSE_CAP_READDIRPLUS, true)
        // Listings always have attributes. find(1) and fts(3) read all names before they examine a file. In automatic
        // mode, the kernel would then request attributes with the first page of names only, and look up every other
        // file separately.
        set(FUSE_CAP_READDIRPLUS_AUTO, false)
        set(FUSE_CAP_PARALLEL_DIROPS, true)
        set(FUSE_CAP_WRITEBACK_CACHE, false)
        // The kernel resolves the file handles of an NFS export by looking up "." and ".." in a node, even after it has
        // forgotten the node.
        set(FUSE_CAP_EXPORT_SUPPORT, true)
        let limit = isAdministrator ? nil : BackgroundLimit.current
        set(FUSE_CAP_ASYNC_READ, BackgroundLimit.permitsAsyncReads(limit))
        requestParallelDirectories(info.want & UInt32(FUSE_CAP_PARALLEL_DIROPS) != 0)
        negotiatePassthrough(isAdministrator: isAdministrator)
    }
}

/// The kernel's limit on background requests for this process.
///
/// `process_init_limits` in the kernel's fs/fuse/inode.c reduces the requested number to the module's parameter
/// `max_user_bgreq` unless the process that answers INIT has CAP_SYS_ADMIN in the initial user namespace.
enum BackgroundLimit {
    /// Whether reads through the page cache may be background requests; `nil` means that there is no limit. With a
    /// limit of twelve, for example, twelve readers that wait for the network would block all other reads of the
    /// filesystem. If they may not be, each reader waits for its own requests only, readahead included
    /// (fuse_send_readpages in fs/fuse/file.c).
    static func permitsAsyncReads(_ limit: Int?) -> Bool { limit ?? .max >= 2_000 }

    /// The limit of the running kernel. If it cannot be read, that of FUSE_DEFAULT_MAX_BACKGROUND is assumed: reads may
    /// then be slower than necessary, but cannot block the mount.
    static var current: Int {
        let text = SystemFile.contents("/sys/module/fuse/parameters/max_user_bgreq") ?? ""
        return text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 12
    }
}

/// The capabilities of this process, from /proc.
enum Privilege {
    /// Whether the process currently has CAP_SYS_ADMIN in the initial user namespace (`capable` in the kernel).
    static var isAdministrator: Bool {
        isAdministrator(
            status: SystemFile.contents("/proc/self/status") ?? "",
            userMap: SystemFile.contents("/proc/self/uid_map") ?? "")
    }

    /// Whether CapEff has CAP_SYS_ADMIN (bit 21) and the user namespace is the initial one, which maps every id to
    /// itself.
    static func isAdministrator(status: String, userMap: String) -> Bool {
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        guard let line, let digits = line.split(whereSeparator: \.isWhitespace).last,
            let capabilities = UInt64(digits, radix: 16)
        else { return false }
        let map = userMap.split(whereSeparator: \.isWhitespace)
        return capabilities & (1 << 21) != 0 && map == ["0", "0", "4294967295"]
    }
}
