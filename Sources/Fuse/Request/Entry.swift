internal import CFuse

/// The result of a lookup: a node, its attributes, and how long the kernel may cache both.
///
/// The corresponding C type is `struct fuse_entry_param`.
package struct Entry: Sendable, Hashable {
    package var node: NodeID
    /// Distinguishes files that had the same node id at different times. Only NFS export needs it: it can stay 0 if
    /// node ids are never reused.
    package var generation: UInt64
    package var attributes: Attributes
    /// The time in seconds for which the kernel may cache the attributes.
    package var attributeTimeout: Double
    /// The time in seconds for which the kernel may cache the name.
    package var entryTimeout: Double

    package init(
        node: NodeID, generation: UInt64 = 0, attributes: Attributes, attributeTimeout: Double, entryTimeout: Double
    ) {
        self.node = node
        self.generation = generation
        self.attributes = attributes
        self.attributeTimeout = attributeTimeout
        self.entryTimeout = entryTimeout
    }

    /// A negative entry: the name does not exist, which the kernel may cache for `timeout` seconds.
    ///
    /// ENOENT says the same but is not cached: every further lookup reaches the filesystem.
    package static func negative(timeout: Double) -> Entry {
        Entry(
            node: .none, attributes: Attributes(inode: 0, kind: .regular, permissions: 0), attributeTimeout: 0,
            entryTimeout: timeout)
    }

    var parameters: fuse_entry_param {
        var parameters = fuse_entry_param()
        parameters.ino = node.rawValue
        parameters.generation = generation
        parameters.attr = attributes.status
        parameters.attr_timeout = attributeTimeout
        parameters.entry_timeout = entryTimeout
        return parameters
    }
}

/// The reply to open and opendir. The corresponding C type is `struct fuse_file_info`.
package struct OpenReply: Sendable, Hashable {
    /// Sent by the kernel in every request on this open file.
    package var handle: FileHandle
    /// Reads bypass the page cache and may go beyond the size in the attributes; a short reply is a short read. Must
    /// not be mixed with cached handles of the same node.
    package var directIO: Bool
    /// The node's cached pages (a folder's cached names) stay valid. Without it every open drops them.
    package var keepCache: Bool
    /// close(2) sends no flush request for this handle.
    package var noFlush: Bool
    /// For opendir only: the kernel caches the names read through this handle, and lists from that cache. The names
    /// carry no attributes: for these the kernel uses its cached lookups, or sends new ones. Since Linux 4.20; older
    /// kernels ignore it.
    package var cacheReaddir: Bool
    /// For open only: the kernel reads this file itself, and no read of the handle reaches the filesystem; with
    /// `directIO` all reads do. Cached pages are dropped even with `keepCache`.
    ///
    /// While a node has a handle of this kind, all its other handles must be of the same kind and id; and none may be
    /// while another is cached. Otherwise the kernel fails the open with EIO.
    package var backing: BackingID?

    package init(
        handle: FileHandle = FileHandle(rawValue: 0), directIO: Bool = false, keepCache: Bool = false,
        noFlush: Bool = false, cacheReaddir: Bool = false, backing: BackingID? = nil
    ) {
        self.handle = handle
        self.directIO = directIO
        self.keepCache = keepCache
        self.noFlush = noFlush
        self.cacheReaddir = cacheReaddir
        self.backing = backing
    }

    var fileInfo: fuse_file_info {
        var info = fuse_file_info()
        info.fh = handle.rawValue
        info.direct_io = directIO ? 1 : 0
        info.keep_cache = keepCache ? 1 : 0
        info.noflush = noFlush ? 1 : 0
        info.cache_readdir = cacheReaddir ? 1 : 0
        return info
    }
    /// The open reply for a passthrough handle. The kernel allows only these three flags for it.
    func answer(_ backing: BackingID) -> cfuse_open_answer {
        var flags = CFUSE_FOPEN_PASSTHROUGH
        if directIO { flags |= CFUSE_FOPEN_DIRECT_IO }
        if noFlush { flags |= CFUSE_FOPEN_NOFLUSH }
        return cfuse_open_answer(fh: handle.rawValue, open_flags: flags, backing_id: backing.rawValue)
    }
}
