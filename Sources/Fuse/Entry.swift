internal import CFuse

/// A name's answer: its node, its attributes, and how long the kernel may believe them.
///
/// The corresponding C type is `struct fuse_entry_param`.
package struct Entry: Sendable, Hashable {
    package var node: NodeID
    /// Distinguishes files that had the same node id one after the other. Only exporting over NFS needs it: where node
    /// ids are never used twice it can stay 0.
    package var generation: UInt64
    package var attributes: Attributes
    /// For how many seconds the kernel may answer stat(2) from its cache.
    package var attributeTimeout: Double
    /// For how many seconds the kernel may take the name for this node without asking.
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

    /// "There is no such name", to be remembered by the kernel for `timeout` seconds.
    ///
    /// An answer of ENOENT says the same but is not remembered: every further try comes back to the filesystem.
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

/// The answer to open and opendir. The corresponding C type is `struct fuse_file_info`.
package struct OpenReply: Sendable, Hashable {
    /// Comes back in every request on this open file.
    package var handle: FileHandle
    /// Reads bypass the page cache and may go beyond the size that the attributes tell; a short answer is a short read.
    /// Must not be mixed with cached handles of the same node.
    package var directIO: Bool
    /// What the page cache holds of the node stays valid, of a folder its names. Without it every open drops the cached pages.
    package var keepCache: Bool
    /// lseek(2) answers ESPIPE.
    package var nonSeekable: Bool
    /// close(2) sends no flush request for this handle.
    package var noFlush: Bool
    /// For opendir alone: the kernel keeps the names that it reads through this handle, and gives out those that it has.
    /// They carry no attributes: who wants these is answered by what the kernel remembers of each name, or it asks for it.
    /// Since Linux 4.20; older ones take no notice.
    package var cacheReaddir: Bool
    /// For open alone: the kernel reads this file by itself, and no read of the handle comes to the filesystem; with
    /// `directIO` they all come. Cached pages are dropped, `keepCache` or not.
    ///
    /// While a handle of a node is open in this way all others have to be, with the same id; and none may be while another
    /// is cached. Else the kernel fails the open with EIO.
    package var backing: BackingID?

    package init(
        handle: FileHandle = FileHandle(rawValue: 0), directIO: Bool = false, keepCache: Bool = false,
        nonSeekable: Bool = false, noFlush: Bool = false, cacheReaddir: Bool = false, backing: BackingID? = nil
    ) {
        self.handle = handle
        self.directIO = directIO
        self.keepCache = keepCache
        self.nonSeekable = nonSeekable
        self.noFlush = noFlush
        self.cacheReaddir = cacheReaddir
        self.backing = backing
    }

    var fileInfo: fuse_file_info {
        var info = fuse_file_info()
        info.fh = handle.rawValue
        info.direct_io = directIO ? 1 : 0
        info.keep_cache = keepCache ? 1 : 0
        info.nonseekable = nonSeekable ? 1 : 0
        info.noflush = noFlush ? 1 : 0
        info.cache_readdir = cacheReaddir ? 1 : 0
        return info
    }
    /// What the kernel is told of a file that it reads by itself: of the flags it allows these three.
    func answer(_ backing: BackingID) -> cfuse_open_answer {
        var flags = CFUSE_FOPEN_PASSTHROUGH
        if directIO { flags |= CFUSE_FOPEN_DIRECT_IO }
        if noFlush { flags |= CFUSE_FOPEN_NOFLUSH }
        return cfuse_open_answer(fh: handle.rawValue, open_flags: flags, backing_id: backing.rawValue)
    }
}
