internal import CFuse
import Glibc
internal import Platform

/// The parameters negotiated with the kernel at the mount.
///
/// The corresponding C type is `struct fuse_conn_info`.
package struct Connection: Sendable, Equatable {
    package var protocolMajor: Int
    package var protocolMinor: Int
    /// The maximum number of unanswered background requests: the smaller of the requested number and the kernel's limit
    /// for this process.
    package var maxBackground: Int
    /// Whether reads through the page cache are background requests. False if the kernel allows too few of these: each
    /// reader then waits for its own requests only, readahead included (fuse_send_readpages in fs/fuse/file.c).
    package var asyncRead: Bool
    /// Whether directory listings contain attributes (READDIRPLUS).
    package var readdirplus: Bool
    /// The readahead size in bytes.
    package var readahead: Int
    /// Whether the kernel accepts backing files; see `BackingFiles`.
    package var passthrough = false

    /// Sets the fields of `info` from the options. Called once for each session, from libfuse's init callback.
    init(negotiating info: inout fuse_conn_info, options: SessionOptions, allowance: BackgroundAllowance) {
        func capable(_ capability: Int32) -> Bool { info.capable & UInt32(capability) != 0 }
        func set(_ capability: Int32, _ on: Bool) {
            if on && capable(capability) {
                info.want |= UInt32(capability)
            } else {
                info.want &= ~UInt32(capability)
            }
        }
        let background = allowance.granted(of: options.maxBackground)
        // The kernel reduces the number to its limit.
        info.max_background = UInt32(min(max(1, options.maxBackground), Int(UInt16.max)))
        if let threshold = options.congestionThreshold { info.congestion_threshold = UInt32(max(1, threshold)) }
        if let readahead = options.readahead { info.max_readahead = min(info.max_readahead, UInt32(max(0, readahead))) }
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
        set(FUSE_CAP_ASYNC_READ, allowance.suffices(for: options.maxBackground))

        protocolMajor = Int(info.proto_major)
        protocolMinor = Int(info.proto_minor)
        maxBackground = background
        asyncRead = info.want & UInt32(FUSE_CAP_ASYNC_READ) != 0
        readdirplus = info.want & UInt32(FUSE_CAP_READDIRPLUS) != 0
        readahead = Int(info.max_readahead)
    }
}

/// The kernel's limit on background requests for this process.
///
/// `process_init_limits` in the kernel's fs/fuse/inode.c reduces the requested number to the module's parameter
/// `max_user_bgreq` unless the process that answers INIT has CAP_SYS_ADMIN in the initial user namespace.
struct BackgroundAllowance: Equatable {
    /// The maximum number of background requests; `nil` if there is no limit.
    var limit: Int?

    /// The number of background requests that suffices for asynchronous reads. With a limit of twelve, for example,
    /// twelve readers that wait for the network would block all other reads of the filesystem.
    private static let sufficient = 2_000

    /// Returns the number of background requests that the kernel grants. The protocol has 16 bits for it.
    func granted(of requested: Int) -> Int {
        min(max(1, requested), Int(UInt16.max), limit ?? Int.max)
    }

    /// Whether reads may be background requests: at least `sufficient` are granted, or all that are requested.
    func suffices(for requested: Int) -> Bool {
        granted(of: requested) >= min(Self.sufficient, max(1, requested))
    }

    /// Reads the limit of the running kernel.
    static func current(isPrivileged: Bool) -> BackgroundAllowance {
        if isPrivileged { return BackgroundAllowance(limit: nil) }
        let text = SystemFile.contents("/sys/module/fuse/parameters/max_user_bgreq") ?? ""
        // If the parameter cannot be read, assume the kernel's FUSE_DEFAULT_MAX_BACKGROUND: reads may then be slower
        // than necessary, but cannot block the mount.
        return BackgroundAllowance(limit: text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 12)
    }
}
