package import SystemPackage

/// A test double of the kernel. With it, a filesystem can be tested by calling its operations, with neither a mount nor
/// libfuse.
package protocol ReplyRecorder: AnyObject, Sendable {
    /// Records a reply, and returns whether the kernel would accept it.
    ///
    /// - Parameter dropped: Whether the request was destroyed without a reply; `answer` is then EIO.
    @discardableResult
    func record(_ answer: RecordedAnswer, dropped: Bool) -> Bool

    /// Registers a handler for an interrupt. Returns true if the caller was interrupted already.
    func register(_ handler: @escaping @Sendable () -> Void) -> Bool
}

/// A reply as a `ReplyRecorder` gets it.
package enum RecordedAnswer: Sendable, Equatable {
    case done
    case error(Errno)
    case entry(Entry)
    case attributes(Attributes, timeout: Double)
    case open(OpenReply)
    /// The reply to read, and to getxattr and listxattr with a capacity.
    case bytes([UInt8])
    /// The reply to getxattr and listxattr with capacity 0.
    case size(Int)
    case link(String)
    case statistics(FilesystemStatistics)
    /// Consecutive `struct fuse_dirent` or, with attributes, `struct fuse_direntplus`.
    case listing([UInt8], withAttributes: Bool)
}
