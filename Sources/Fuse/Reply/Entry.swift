internal import CFuse

/// The result of a lookup: a node, its attributes, and how long the kernel may cache both.
///
/// The corresponding C type is `struct fuse_entry_param`.
package struct Entry: Sendable, Hashable {
    /// The node's id. The filesystem does not reuse ids, so `generation` of the C type stays 0.
    package var node: NodeID
    package var attributes: Attributes
    /// The time in seconds for which the kernel may cache the attributes.
    package var attributeTimeout: Double
    /// The time in seconds for which the kernel may cache the name.
    package var entryTimeout: Double

    package init(node: NodeID, attributes: Attributes, attributeTimeout: Double, entryTimeout: Double) {
        self.node = node
        self.attributes = attributes
        self.attributeTimeout = attributeTimeout
        self.entryTimeout = entryTimeout
    }

    var parameters: fuse_entry_param {
        var parameters = fuse_entry_param()
        parameters.ino = node.rawValue
        parameters.attr = attributes.status
        parameters.attr_timeout = attributeTimeout
        parameters.entry_timeout = entryTimeout
        return parameters
    }
}

/// The reply to open and opendir. The corresponding C type is `struct fuse_file_info`.
package struct OpenReply: Sendable, Hashable {
    /// The handle that the kernel sends in every request on this open file.
    package var handle: FileHandle
    /// Whether reads bypass the page cache and may go beyond the size in the attributes. read(2) then returns as many
    /// bytes as the reply has. Must not be mixed with cached handles of the same node.
    package var directIO = false
    /// Whether the node's cached pages (a folder's cached names) stay valid. Otherwise the open drops them.
    package var keepCache = false
    /// Whether close(2) sends no flush request for this handle.
    package var noFlush = false
    /// Whether the kernel caches the names read through this handle, and lists from that cache; for opendir only.
    /// Cached names carry no attributes: the kernel gets the attributes from its cached lookups, or sends new lookups.
    /// Since Linux 4.20; older kernels ignore it.
    package var cacheReaddir = false
    /// The id of the file that the kernel reads itself for this handle; for open only. Reads of the handle do not reach
    /// the filesystem, but with `directIO` all of them do. Cached pages are dropped even with `keepCache`.
    ///
    /// While a node has a passthrough handle, all its other handles must be passthrough with the same id. A passthrough
    /// handle cannot be opened while a cached one is open. The kernel fails an open that breaks these rules with EIO.
    package var backing: BackingID?

    package init(handle: FileHandle) { self.handle = handle }

    var fileInfo: fuse_file_info {
        var info = fuse_file_info()
        info.fh = handle.rawValue
        info.direct_io = directIO ? 1 : 0
        info.keep_cache = keepCache ? 1 : 0
        info.noflush = noFlush ? 1 : 0
        info.cache_readdir = cacheReaddir ? 1 : 0
        return info
    }

    /// Returns the reply for a passthrough handle in the kernel's format. The kernel would reject a passthrough reply
    /// that also has the flag of `keepCache` or `cacheReaddir` (FOPEN_PASSTHROUGH_MASK in fs/fuse/iomode.c). So these
    /// flags are not sent.
    func answer(_ backing: BackingID) -> cfuse_open_answer {
        var flags = CFUSE_FOPEN_PASSTHROUGH
        if directIO { flags |= CFUSE_FOPEN_DIRECT_IO }
        if noFlush { flags |= CFUSE_FOPEN_NOFLUSH }
        return cfuse_open_answer(fh: handle.rawValue, open_flags: flags, backing_id: backing.rawValue)
    }
}
