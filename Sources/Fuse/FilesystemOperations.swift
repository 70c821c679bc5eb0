import SystemPackage

/// What a read-only filesystem answers; one requirement for each request of the kernel.
///
/// Called on the threads of `Session.run(threads:)`, several at a time. An operation that would have to wait parks its
/// request (`ParkedRequest`) and returns: there are only so many threads. All requests carry the obligation to be
/// answered, by one of the "valid replies" or by `reply(error:)`, which always fits.
///
/// What is not here is answered by the binding: mknod, mkdir, unlink, rmdir, symlink, rename, link, create, write,
/// fallocate and copy_file_range, and open for writing, by EROFS. Locks are kept by the kernel.
///
/// A name that is no valid UTF-8 does not reach the operations: there is no such file (ENOENT) or attribute (ENODATA).
/// Swift compares strings by canonical equivalence and the kernel by bytes: a filesystem has to compare names by
/// `utf8`.
package protocol FilesystemOperations: Sendable {
    /// The filesystem is mounted; the kernel sends nothing else before this has returned. Needs no answer.
    func initialize(_ connection: Connection)

    /// The session is over: no operation is called any more. Requests that are still parked may be answered or dropped.
    func destroy()

    /// Finds a name in a folder. Grows the node's lookup count by one, unless the entry is negative.
    ///
    /// Valid replies: `reply(entry:)`, also a negative one.
    func lookup(_ request: consuming Request, parent: NodeID, name: String)

    /// The kernel drops a node from its cache, and with it `count` of its lookups. Needs no answer.
    ///
    /// When all lookups are taken back the kernel does not know the node any more. After an unmount it may not tell.
    func forget(node: NodeID, count: UInt64)

    /// The attributes of a node; `handle` if the kernel asks through an open file (fstat(2)).
    ///
    /// Valid replies: `reply(attributes:timeout:)`.
    func getattr(_ request: consuming Request, node: NodeID, handle: FileHandle?)

    /// Changes attributes of a node. The default answers EROFS.
    ///
    /// Valid replies: `reply(attributes:timeout:)` with all attributes as they are now.
    func setattr(_ request: consuming Request, node: NodeID, changes: AttributeChanges, handle: FileHandle?)

    /// Reads a symbolic link. The default answers EINVAL.
    ///
    /// Valid replies: `reply(link:)`.
    func readlink(_ request: consuming Request, node: NodeID)

    /// Opens a file for reading; `flags` are those of open(2).
    ///
    /// Valid replies: `reply(open:)`, whose result tells whether a release will come.
    func open(_ request: consuming Request, node: NodeID, flags: Int32)

    /// Reads `size` bytes at `offset`, fewer only at the end of the file.
    ///
    /// Valid replies: `reply(bytes:)`, `reply(upTo:fill:)`.
    func read(_ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, size: Int)

    /// A descriptor of an open file is closed; there may be several. The default answers ENOSYS, which the kernel takes
    /// for success, and does not ask again.
    ///
    /// Valid replies: `replyDone()`.
    func flush(_ request: consuming Request, node: NodeID, handle: FileHandle)

    /// An open file is closed for good: one for each open that the kernel took. The default does nothing.
    ///
    /// Valid replies: `replyDone()`. An error reaches nobody.
    func release(_ request: consuming Request, node: NodeID, handle: FileHandle)

    /// Opens a folder for listing. The default opens every folder with the handle 0.
    ///
    /// Valid replies: `reply(open:)`, whose result tells whether a releasedir will come.
    func opendir(_ request: consuming Request, node: NodeID)

    /// Lists names from `page.offset` on.
    ///
    /// Valid replies: `reply(listing:_:)`.
    func readdir(_ request: consuming Request, node: NodeID, page: DirectoryPage)

    /// Lists names with their nodes and attributes, as a lookup of each would. The default calls `readdir`, which does
    /// for both since the buffer knows which form is asked for.
    ///
    /// Valid replies: `reply(listing:_:)`.
    func readdirplus(_ request: consuming Request, node: NodeID, page: DirectoryPage)

    /// A folder's listing is closed: one for each opendir that the kernel took. The default does nothing.
    ///
    /// Valid replies: `replyDone()`.
    func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle)

    /// The filesystem's size and room. The default tells of an empty one.
    ///
    /// Valid replies: `reply(statistics:)`.
    func statfs(_ request: consuming Request, node: NodeID)

    /// Reads an extended attribute; `capacity` 0 asks for its size. The kernel keeps no copy: every getxattr(2) comes
    /// here. The default answers ENOSYS: there are no attributes, and the kernel does not ask again.
    ///
    /// Valid replies: `reply(value:capacity:)`; ENODATA if there is no such attribute.
    func getxattr(_ request: consuming Request, node: NodeID, name: String, capacity: Int)

    /// Sets an extended attribute; `flags` are those of setxattr(2). The default answers EROFS. `value` is valid during
    /// the call only.
    ///
    /// Valid replies: `replyDone()`.
    func setxattr(
        _ request: consuming Request, node: NodeID, name: String, value: UnsafeRawBufferPointer, flags: Int32)

    /// Lists the names of the extended attributes; `capacity` 0 asks for the list's size. The default answers ENOSYS.
    ///
    /// Valid replies: `reply(attributeNames:capacity:)`.
    func listxattr(_ request: consuming Request, node: NodeID, capacity: Int)

    /// Removes an extended attribute. The default answers EROFS.
    ///
    /// Valid replies: `replyDone()`.
    func removexattr(_ request: consuming Request, node: NodeID, name: String)

    /// access(2) and chdir(2), for a bit mask of R_OK, W_OK and X_OK. The default answers ENOSYS, by which the kernel
    /// allows everything and does not ask again: what an open or a lookup is allowed is then for these to say.
    ///
    /// Valid replies: `replyDone()`; EACCES or EROFS.
    func access(_ request: consuming Request, node: NodeID, mask: Int32)

    /// Looks for data or a hole from `offset` on (SEEK_DATA, SEEK_HOLE of lseek(2)). The default answers ENOSYS, by
    /// which the kernel calls every file data up to the size in its attributes and does not ask again.
    ///
    /// Valid replies: `reply(offset:)`, `reply(seeking:from:size:)`.
    func lseek(_ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, target: SeekTarget)
}

extension FilesystemOperations {
    package func initialize(_ connection: Connection) {}

    package func destroy() {}

    package func forget(node: NodeID, count: UInt64) {}

    package func setattr(_ request: consuming Request, node: NodeID, changes: AttributeChanges, handle: FileHandle?) {
        request.reply(error: .readOnlyFileSystem)
    }

    package func readlink(_ request: consuming Request, node: NodeID) {
        request.reply(error: .invalidArgument)
    }

    package func flush(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        request.reply(error: .noFunction)
    }

    package func release(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        request.replyDone()
    }

    package func opendir(_ request: consuming Request, node: NodeID) {
        request.reply(open: OpenReply())
    }

    package func readdirplus(_ request: consuming Request, node: NodeID, page: DirectoryPage) {
        readdir(request, node: node, page: page)
    }

    package func releasedir(_ request: consuming Request, node: NodeID, handle: FileHandle) {
        request.replyDone()
    }

    package func statfs(_ request: consuming Request, node: NodeID) {
        request.reply(statistics: FilesystemStatistics())
    }

    package func getxattr(_ request: consuming Request, node: NodeID, name: String, capacity: Int) {
        request.reply(error: .noFunction)
    }

    package func setxattr(
        _ request: consuming Request, node: NodeID, name: String, value: UnsafeRawBufferPointer, flags: Int32
    ) {
        request.reply(error: .readOnlyFileSystem)
    }

    package func listxattr(_ request: consuming Request, node: NodeID, capacity: Int) {
        request.reply(error: .noFunction)
    }

    package func removexattr(_ request: consuming Request, node: NodeID, name: String) {
        request.reply(error: .readOnlyFileSystem)
    }

    package func access(_ request: consuming Request, node: NodeID, mask: Int32) {
        request.reply(error: .noFunction)
    }

    package func lseek(
        _ request: consuming Request, node: NodeID, handle: FileHandle, offset: Int64, target: SeekTarget
    ) {
        request.reply(error: .noFunction)
    }
}
