internal import CFuse
import Glibc

/// What was agreed with the kernel when the filesystem was mounted. The corresponding C type is `struct
/// fuse_conn_info`.
package struct Connection: Sendable, Equatable {
    package var protocolMajor: Int
    package var protocolMinor: Int
    /// How many background requests may be unanswered: what was asked for, or what the kernel allows this process.
    package var maxBackground: Int
    /// Reads through the page cache are background requests. Off where the kernel allows too few of them: then each
    /// reader waits for its own read only, and the kernel does not read ahead beside it.
    package var asyncRead: Bool
    /// Listings come with attributes.
    package var readdirplus: Bool
    /// In bytes.
    package var readahead: Int
    /// The kernel may be given files to read by itself; see `BackingFiles`.
    package var passthrough = false

    /// Settles `info` by the options: called once for each session, from libfuse's init callback.
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
        // The kernel cuts the number by itself.
        info.max_background = UInt32(min(max(1, options.maxBackground), Int(UInt16.max)))
        if let threshold = options.congestionThreshold { info.congestion_threshold = UInt32(max(1, threshold)) }
        if let readahead = options.readahead { info.max_readahead = min(info.max_readahead, UInt32(max(0, readahead))) }
        if let maxRead = options.maxRead { info.max_read = maxRead }

        // Answers are written from memory: splicing was measured slower, and moving pages much slower.
        set(FUSE_CAP_SPLICE_READ, false)
        set(FUSE_CAP_SPLICE_WRITE, false)
        set(FUSE_CAP_SPLICE_MOVE, false)
        // Cached pages go when the filesystem says so and not when an mtime changes.
        set(FUSE_CAP_AUTO_INVAL_DATA, false)
        set(FUSE_CAP_EXPLICIT_INVAL_DATA, true)
        set(FUSE_CAP_READDIRPLUS, true)
        // Always with attributes: left to itself the kernel asks for them with the first page alone where a program reads all
        // names before it looks at one, as find(1) and fts(3) do, and for all other files one by one.
        set(FUSE_CAP_READDIRPLUS_AUTO, false)
        set(FUSE_CAP_PARALLEL_DIROPS, true)
        set(FUSE_CAP_WRITEBACK_CACHE, false)
        set(FUSE_CAP_ASYNC_READ, allowance.suffices(for: options.maxBackground))

        protocolMajor = Int(info.proto_major)
        protocolMinor = Int(info.proto_minor)
        maxBackground = background
        asyncRead = info.want & UInt32(FUSE_CAP_ASYNC_READ) != 0
        readdirplus = info.want & UInt32(FUSE_CAP_READDIRPLUS) != 0
        readahead = Int(info.max_readahead)
    }
}

/// How many background requests the kernel allows this process, whatever it asks for.
///
/// `process_init_limits` in the kernel's fs/fuse/inode.c cuts the number to the module's parameter `max_user_bgreq`
/// unless the process that answers INIT has CAP_SYS_ADMIN in the initial user namespace.
struct BackgroundAllowance: Equatable {
    /// nil: no limit.
    var limit: Int?

    /// Fewer than these, and as many waiting readers stop a filesystem whose reads wait for the network.
    private static let enough = 2_000

    /// What comes of a wish. The protocol has 16 bits for it.
    func granted(of wish: Int) -> Int {
        min(max(1, wish), Int(UInt16.max), limit ?? Int.max)
    }

    /// Whether reads may be background requests: there are enough, or at least as many as were wished.
    func suffices(for wish: Int) -> Bool {
        granted(of: wish) >= min(Self.enough, max(1, wish))
    }

    static func current(isPrivileged: Bool) -> BackgroundAllowance {
        if isPrivileged { return BackgroundAllowance(limit: nil) }
        let text = SystemFile.contents("/sys/module/fuse/parameters/max_user_bgreq") ?? ""
        // Where the parameter cannot be read the limit is taken for the kernel's FUSE_DEFAULT_MAX_BACKGROUND: reading
        // is slower then than it could be, but cannot stop.
        return BackgroundAllowance(limit: text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } ?? 12)
    }
}
