internal import Glibc
internal import Platform
package import SystemPackage

/// The metadata of a cache file by which a change of its content is detected. A file is not trusted if its
/// metadata differ from those recorded when the content was verified.
///
/// Writing to, truncating or replacing a file changes one of these values, even if a program resets the mtime, because
/// no program can set the ctime. Adding a hard link or changing the mode changes the ctime, too.
package struct FileState: Sendable, Codable, Equatable {
    package var inode: UInt64
    /// The mtime, in nanoseconds since 1970.
    package var modified: Int64
    /// The size in bytes.
    package var size: Int64
    /// The bytes allocated on the disk: fewer than `size` if the file system compresses data or the file has holes.
    package var allocated: Int64
    /// The ctime, in nanoseconds since 1970.
    package var changed: Int64
}

extension FileState {
    init(_ status: stat) {
        inode = UInt64(status.st_ino)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
        size = Int64(status.st_size)
        // Blocks beyond the end, which some file systems preallocate and release later, are not counted.
        allocated = min(Int64(status.st_blocks) &* 512, size)
    }

    /// A program may set an arbitrary mtime, hence the wrapping arithmetic.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Whether a file with the state `other` may be unchanged since this state was recorded.
    ///
    /// The allocated size in `other` may be larger: some file systems count a block only after it was written to the
    /// disk.
    func admits(_ other: FileState) -> Bool {
        inode == other.inode && modified == other.modified && changed == other.changed && size == other.size
            && other.allocated >= allocated
    }

    /// Reads the state of an open file. The corresponding C function is `fstat`.
    package init(of descriptor: FileDescriptor) throws(Errno) {
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0 else { throw Errno(rawValue: errno) }
        self.init(status)
    }

    /// Whether every byte was allocated.
    var isDense: Bool { allocated == size }

    // MARK: As text

    /// The text stored in the library.
    package var text: String { "\(inode) \(modified) \(size) \(allocated) \(changed)" }

    /// Parses `text`; `nil` if it is malformed.
    package init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 5, let inode = UInt64(words[0]), let modified = Int64(words[1]),
            let size = Int64(words[2]), let allocated = Int64(words[3]), let changed = Int64(words[4]), size >= 0,
            (0...size).contains(allocated)
        else { return nil }
        self.init(inode: inode, modified: modified, size: size, allocated: allocated, changed: changed)
    }
}

/// A defect of a cache file.
package enum CacheFileDefect: Error, Sendable, Equatable, CustomStringConvertible {
    case missing
    /// The path leads to a symbolic link, a folder, a pipe or anything else that is not a regular file.
    case notAFile
    case wrongSize(found: Int64, expected: Int64)
    /// The size is right, but the inode, the mtime, the ctime or the allocated size is not, or the file has a hole, or
    /// no state was recorded. Only the digest shows whether the content is still right.
    case changed
    /// The digest is not the recorded one.
    case wrongContent
    /// The file cannot be opened or read. If the process has run out of descriptors or memory, the file itself may be
    /// intact: see `isTransient`.
    case unreadable(code: Int32)
    /// The content is right, but the checkpoint that records it cannot be written, for example on a full disk.
    case checkpointNotWritten(code: Int32)

    package var description: String {
        switch self {
        case .missing: "it does not exist"
        case .notAFile: "it is not a regular file"
        case .wrongSize(let found, let expected): "it has \(found) bytes instead of \(expected)"
        case .changed: "it has been changed or replaced"
        case .wrongContent: "its content is not what was downloaded"
        case .unreadable(let code): "it cannot be read: \(errnoText(code))"
        case .checkpointNotWritten(let code): "its checkpoint cannot be written: \(errnoText(code))"
        }
    }

    /// The defect as an errno, for callers that do not distinguish defects; EIO if none fits.
    package var errorNumber: Int32 {
        switch self {
        case .missing: ENOENT
        case .unreadable(let code), .checkpointNotWritten(let code): code
        default: EIO
        }
    }

    /// Whether the defect is transient; the file must then not be removed.
    package var isTransient: Bool {
        switch self {
        case .unreadable(let code): [EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN].contains(code)
        case .checkpointNotWritten: true
        default: false
        }
    }
}
