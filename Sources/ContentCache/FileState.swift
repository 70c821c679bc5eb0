internal import CLinux
internal import Glibc

/// How a cache file looked when all of it was known to be right. One that looks otherwise is not believed.
///
/// Whatever writes to a file, cuts it, or puts another in its place changes one of these, but for what takes care to set
/// the time back; of that the blocks tell most.
package struct FileState: Sendable, Equatable {
    package var inode: UInt64
    /// Nanoseconds since 1970.
    package var modified: Int64
    /// Bytes.
    package var size: Int64
    /// How many of its bytes take up space on the disk: fewer where the file system compresses or leaves out zeros.
    package var allocated: Int64

    package init(inode: UInt64, modified: Int64, size: Int64, allocated: Int64) {
        self.inode = inode
        self.modified = modified
        self.size = size
        self.allocated = allocated
    }

    init(_ status: stat) {
        inode = UInt64(status.st_ino)
        // Whoever may set a file's time may set any.
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        size = Int64(status.st_size)
        // The blocks behind the end, which some file systems set aside and take back later, are none of the file's.
        allocated = min(Int64(status.st_blocks) &* 512, size)
    }

    /// Whether a file that looks like `other` now may be the one of which this was recorded.
    ///
    /// It may take up more than it did: some file systems count a block only when it has been written to the disk.
    func admits(_ other: FileState) -> Bool {
        inode == other.inode && modified == other.modified && size == other.size && other.allocated >= allocated
    }

    /// Whether the file system had a block for every byte.
    var isDense: Bool { allocated == size }

    // MARK: As text

    /// The form in which the library keeps it.
    package var text: String { "\(inode) \(modified) \(size) \(allocated)" }

    package init?(text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, let inode = UInt64(words[0]), let modified = Int64(words[1]),
            let size = Int64(words[2]), let allocated = Int64(words[3]), size >= 0, (0...size).contains(allocated)
        else { return nil }
        self.init(inode: inode, modified: modified, size: size, allocated: allocated)
    }
}

/// What is wrong with a cache file.
package enum CacheFileDefect: Error, Sendable, Equatable, CustomStringConvertible {
    case missing
    /// A symbolic link, a folder, a pipe.
    case notAFile
    case wrongSize(found: Int64, expected: Int64)
    /// It has the right size, and is another file, or has been written to, or has holes: only its digest tells whether it
    /// is right.
    case changed
    /// Its digest is not the one that was recorded.
    case wrongContent
    /// It cannot be opened or read now; that says nothing about it when descriptors or memory have run out.
    case unreadable(code: Int32)

    package var description: String {
        switch self {
        case .missing: "it is not there"
        case .notAFile: "it is not a regular file"
        case .wrongSize(let found, let expected): "it has \(found) bytes in place of \(expected)"
        case .changed: "it has been changed or replaced"
        case .wrongContent: "its content is not what was downloaded"
        case .unreadable(let code): "it cannot be read: \(String(cString: strerror(code)))"
        }
    }

    /// For a caller who only wants to know whether there is a file.
    package var errorNumber: Int32 {
        switch self {
        case .missing: ENOENT
        case .unreadable(let code): code
        default: EIO
        }
    }

    /// Whether the file may be as good as ever: it is not to be dropped for this.
    package var isPassing: Bool {
        guard case .unreadable(let code) = self else { return false }
        return [EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN].contains(code)
    }
}
