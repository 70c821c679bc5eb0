package import Fuse
internal import Glibc
internal import Platform
internal import Synchronization
package import SystemPackage
internal import Transfers

/// An open episode or generated file.
final class OpenFile: Sendable {
    /// Whether the daemon was notified that a read was answered with the episode's first bytes (`Media.head`).
    enum HeadNotification {
        case none
        /// The daemon is notified of the read after the reply, so that its work does not delay the reader. If the file
        /// is closed before that notification, the daemon is notified of the read first and of the close afterwards.
        case pending(isClosed: Bool)
        case sent
    }

    /// The source of an open episode's bytes.
    struct Media {
        /// The cache file, if there is one.
        var reader: MediaReader?
        /// The cache file's name.
        var file: String?
        /// The byte ranges of the cache file that are known to be readable.
        var present = ByteRanges()
        /// The size in bytes; `nil` if no server has confirmed it.
        var total: Int64?
        var isComplete = false
        /// The episode's first bytes as sent by the daemon; empty once the cache file is known.
        var head: [UInt8] = []
        var headNotification = HeadNotification.none
        /// The reads so far of a program that is assumed to be a probe, which reads only headers and tags; `nil` for a
        /// player.
        var probing: ProbeReads?
        /// The error of the last failed read, and its time on `SystemClock.monotonic`.
        var refusal: (error: Errno, at: Instant)?
    }

    let number: NodeNumber
    /// The node of the episode whose bytes are read. Differs from `number` only for a file in the folder `Tagged`,
    /// which has a generated tag before the episode's bytes.
    let medium: NodeNumber
    /// The tag of a file in `Tagged`; `nil` for other files.
    let tag: ReplacementTag?
    /// Whether the daemon counts this open, and must be notified of the close.
    let isCounted: Bool
    /// Whether an episode was opened with O_DIRECT, so that its reads bypass the page cache. Every such read, even one
    /// beyond the end, comes from a program and not from the kernel's readahead. Always true for a generated file, for
    /// which the value is not used.
    let bypassesCache: Bool
    /// The content of a generated file; `nil` for an episode.
    let content: GeneratedContent?
    let media: Mutex<Media>

    /// Creates an open episode, or with `content` an open generated file.
    init(
        number: NodeNumber, isCounted: Bool = false, flags: Int32 = __O_DIRECT, content: GeneratedContent? = nil,
        media: sending Media = Media()
    ) {
        self.number = number
        medium = number
        tag = nil
        self.isCounted = isCounted
        // glibc's internal name, since O_DIRECT requires _GNU_SOURCE.
        bypassesCache = flags & __O_DIRECT != 0
        self.content = content
        self.media = Mutex(media)
    }

    /// Creates an open file in `Tagged`. `original` is the open episode whose bytes follow the tag.
    init(number: NodeNumber, tag: ReplacementTag, _ original: OpenFile) {
        self.number = number
        self.tag = tag
        medium = original.number
        isCounted = original.isCounted
        bypassesCache = original.bypassesCache
        content = nil
        media = Mutex(original.media.withLock { $0 })
    }

    /// Whether the file is an episode, including the playlist of a stream and a file in `Tagged`.
    var isEpisode: Bool { medium.kind == .episode }

    /// The size of a file in `Tagged` in bytes; `nil` for other files, and while the original's size is unknown.
    var taggedSize: Int64? {
        guard let tag, let total = media.withLock({ $0.total }) else { return nil }
        return tag.size + max(0, total - tag.skipped)
    }

    /// The cache file of an episode; `nil` until it is known.
    var leased: LeasedFile? {
        media.withLock { media in
            guard let reader = media.reader, let name = media.file else { return nil }
            return LeasedFile(reader: reader, name: name)
        }
    }
}

/// The reads of one open file by a program that is assumed to be a probe (a program that reads only headers and tags),
/// until the reads show that it is a player. Pure.
///
/// Some programs (mpd, minidlnad) both scan a library and play from it. What they read shows which of the two they do:
/// a scan reads the start of a file and a few other places, whereas a player reads on.
struct ProbeReads: Sendable, Equatable {
    /// The number of bytes read in sequence after which a program counts as a player.
    static let sequence: Int64 = 1 << 20
    /// The time since the open after which a program that still reads counts as a player. The time during
    /// which its reads waited for the server is not included.
    static let duration = Duration.seconds(5)
    /// The maximum distance in bytes between the end of a sequence and a read that continues it. Reads of one sequence
    /// can be apart because the kernel sends the reads of its readahead in any order, and none for pages that it has
    /// cached.
    static let reach: Int64 = 256 * 1024

    private let opened: Instant
    /// The time during which at least one read has waited for the server, before `waitingSince`.
    private var waited = Duration.zero
    /// The number of reads that wait for the server, and since when at least one does.
    private var waiting = 0
    private var waitingSince = Instant.start
    /// The end of the current sequence, and the number of bytes read in it.
    private var end: Int64 = 0
    private var count: Int64 = 0

    init(openedAt now: Instant) { opened = now }

    /// Records a read.
    ///
    /// - Returns: Whether this read shows that the program is a player.
    mutating func read(_ range: Range<Int64>, at now: Instant) -> Bool {
        let distance = range.lowerBound.subtractingReportingOverflow(end)
        if !distance.overflow, distance.partialValue.magnitude <= Self.reach.magnitude {
            count += Int64(range.count)
            end = max(end, range.upperBound)
        } else {
            count = Int64(range.count)
            end = range.upperBound
        }
        let waited = waited + (waiting > 0 ? now - waitingSince : .zero)
        return count >= Self.sequence || now - opened - waited >= Self.duration
    }

    /// Records that a read begins to wait for the server. The kernel sends reads concurrently, so waits may overlap;
    /// the common time is counted once. A read whose caller is interrupted waits until the file is closed.
    mutating func beginWait(at now: Instant) {
        if waiting == 0 { waitingSince = now }
        waiting += 1
    }

    mutating func endWait(at now: Instant) {
        waiting -= 1
        if waiting == 0 { waited += now - waitingSince }
    }
}

/// The table of open files and folders by handle. It also stores the cache file that all handles of a node share.
struct OpenFiles: Sendable {
    /// The cache file that all handles of a node share until the last handle is closed.
    struct Node: Sendable {
        /// The cache file; `nil` until one of the handles has it. A handle that was opened before the cache file
        /// existed gets it when a read of the handle reaches this filesystem. It has none as long as the kernel answers
        /// all its reads from cached pages.
        var leased: LeasedFile?
        /// The cache file registered for passthrough.
        var backed: BackedFile?
    }

    private var files: [FileHandle: OpenFile] = [:]
    var folders: [FileHandle: OpenFolder] = [:]
    private var lastHandle: UInt64 = 0
    /// The shared cache file of each open node.
    var nodes: [NodeNumber: Node] = [:]
    /// The completions of the opens that wait for the invalidation of a node's attributes.
    var pendingOpens: [NodeNumber: [@Sendable (_ isInvalidated: Bool) -> Void]] = [:]

    subscript(handle: FileHandle) -> OpenFile? { files[handle] }

    private mutating func nextHandle() -> FileHandle {
        lastHandle += 1
        return FileHandle(rawValue: lastHandle)
    }

    mutating func add(_ file: OpenFile) -> FileHandle {
        let handle = nextHandle()
        files[handle] = file
        if nodes[file.number] == nil { nodes[file.number] = Node() }
        lease(file)
        return handle
    }

    mutating func remove(_ handle: FileHandle) -> OpenFile? { files.removeValue(forKey: handle) }

    /// Stores the cache file of a handle, if it is known, for all handles of the node. The file stays leased until the
    /// node's last handle is closed.
    mutating func lease(_ file: OpenFile) {
        // The node is missing if the daemon's response to a read arrives after the last close.
        guard file.isEpisode, let node = nodes[file.number], node.leased == nil, let leased = file.leased else {
            return
        }
        nodes[file.number]?.leased = leased
    }

    mutating func add(_ folder: FolderSnapshot) -> FileHandle {
        let handle = nextHandle()
        folders[handle] = OpenFolder(names: folder)
        return handle
    }

    /// Replaces the names of an open folder, for its further requests.
    mutating func replace(_ handle: FileHandle, with names: FolderSnapshot) { folders[handle]?.names = names }
}

/// A cache file on which its reader has a lease, a lock that prevents the daemon from evicting the file.
struct LeasedFile: Sendable {
    let reader: MediaReader
    let name: String
}

/// A complete cache file registered for passthrough.
struct BackedFile: Sendable {
    let backing: BackingFile
    let reader: MediaReader
    let name: String
    /// The size in bytes.
    let total: Int64

    /// Registers an open file. Fails if the file is not complete, or the kernel does not accept it.
    init?(_ file: OpenFile, _ registry: (any BackingFileRegistry)?) {
        let media = file.media.withLock { $0 }
        guard let registry, media.isComplete, let reader = media.reader, let name = media.file, let total = media.total,
            let backing = reader.withDescriptor({ registry.register($0) })
        else { return nil }
        (self.backing, self.reader, self.name, self.total) = (backing, reader, name, total)
    }
}

/// The registration of files with the kernel for passthrough.
package protocol BackingFileRegistry: Sendable {
    /// Registers a file; returns `nil` if the kernel does not accept it. Called with a lock held, so it must neither
    /// block nor call the filesystem.
    func register(_ file: FileDescriptor) -> BackingFile?
}

extension BackingFiles: BackingFileRegistry {}
