/// The operations of a read-only filesystem; one requirement for each kind of kernel request that the binding does not
/// answer itself.
///
/// The binding calls them on the threads of `Session.run(threads:)`, several at a time. An operation that would have to
/// wait parks its request (`ParkedRequest`) and returns, since the number of threads is fixed. Every request must be
/// answered, by one of the "valid replies" or by `reply(error:)`, which is always valid.
///
/// The binding itself answers setattr, mknod, mkdir, unlink, rmdir, symlink, rename, link, create, write, fallocate,
/// copy_file_range and removexattr, and open for writing, with EROFS. It replies ENOSYS to flush, which the kernel
/// treats as success, and to lseek, after which the kernel treats every file as data up to its size (SEEK_DATA,
/// SEEK_HOLE); it sends no further request of the kind. The kernel handles file locks.
///
/// A name that is not valid UTF-8 does not reach the operations: the reply is ENOENT for a file, ENODATA for an
/// attribute, and EINVAL to setxattr. Swift compares strings by canonical equivalence and the kernel by bytes, so a
/// filesystem must compare names by `utf8`.
package protocol FilesystemOperations: Sendable {
    /// Called when the kernel negotiates the session; it sends no other request before this returns. Needs no reply.
    func initialize()

    /// Looks up a name in a folder. The reply increments the lookup count of the entry's node, unless the entry is
    /// negative (the name does not exist).
    ///
    /// The kernel looks up `.` and `..` only to decode file handles of an exported filesystem (NFS). `parent` is then
    /// the handle's node, which may be a file, and may have been forgotten. The reply to `.` has to be an entry of the
    /// same node id.
    ///
    /// Valid replies: `reply(entry:)`, including a negative one.
    func lookup(_ request: consuming Request, parent: NodeID, name: String)

    /// Subtracts `count` from a node's lookup count. Needs no reply.
    ///
    /// At a count of 0 the kernel no longer refers to the node. After an unmount the kernel may omit this request.
    func forget(node: NodeID, count: UInt64)

    /// Returns the attributes of a node. `handle` is set if the kernel requests them through an open file (fstat(2)).
    ///
    /// Valid replies: `reply(attributes:timeout:)`.
    func getattr(_ request: consuming Request, node: NodeID, handle: FileHandle?)

    /// Reads a symbolic link.
    ///
    /// Valid replies: `reply(link:)`.
    func readlink(_ request: consuming Request, node: NodeID)

    /// Opens a file for reading; `flags` are those of open(2).
    ///
    /// Valid replies: `reply(open:)`, which returns whether a release will follow.
    func open(_ request: consuming Request, node: NodeID, flags: Int32)

    /// Reads `size` bytes at `offset`; fewer only at the end of the file.
    ///
    /// Valid replies: `reply(bytes:)`, `reply(upTo:fill:)`.
    func read(_ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, size: Int)

    /// Called when the last descriptor of an open file is closed: once for each open reply that the kernel accepted.
    ///
    /// Valid replies: `replyDone()`. The kernel ignores an error.
    func release(_ request: consuming Request, node: NodeID, handle: FileHandle)

    /// Opens a folder for listing.
    ///
    /// Valid replies: `reply(open:)`, which returns whether a releasedir will follow.
    func opendir(_ request: consuming Request, node: NodeID)

    /// Lists names starting at `page.offset`; for readdirplus with their nodes and attributes, like a lookup of each.
    /// The buffer of `reply(listing:_:)` writes each entry in the form that the kernel has requested.
    ///
    /// Valid replies: `reply(listing:_:)`.
    func readdir(_ request: consuming Request, node: NodeID, page: DirectoryPage)

    /// Called when a folder's listing is closed: once for each opendir reply that the kernel accepted.
    ///
    /// Valid replies: `replyDone()`.
    func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle)

    /// Returns the filesystem's size and free space.
    ///
    /// Valid replies: `reply(statistics:)`.
    func statfs(_ request: consuming Request, node: NodeID)

    /// Reads an extended attribute; `capacity` 0 requests its size. The kernel does not cache extended attributes, so
    /// every getxattr(2) arrives here.
    ///
    /// Valid replies: `reply(value:capacity:)`; ENODATA if the attribute does not exist.
    func getxattr(_ request: consuming Request, node: NodeID, name: String, capacity: Int)

    /// Sets an extended attribute; `flags` are those of setxattr(2). `value` is valid during the call only.
    ///
    /// Valid replies: `replyDone()`.
    func setxattr(_ request: consuming Request, node: NodeID, name: String, value: UnsafeRawBufferPointer, flags: Int32)

    /// Lists the names of the extended attributes; `capacity` 0 requests the list's size.
    ///
    /// Valid replies: `reply(attributeNames:capacity:)`.
    func listxattr(_ request: consuming Request, node: NodeID, capacity: Int)

    /// Checks access for access(2) and chdir(2); `mask` has the bits R_OK, W_OK and X_OK.
    ///
    /// Valid replies: `replyDone()`; EACCES or EROFS.
    func access(_ request: consuming Request, node: NodeID, mask: Int32)
}
