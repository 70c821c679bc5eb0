internal import Fuse
internal import Glibc
internal import Platform
internal import SystemPackage

/// The listings of all folders: the offsets of their names, and the state of the kernel's caches; see `DirectoryCache`.
///
/// Also stores the names of the show that was listed last, until a change: reading the rows of ten thousand episodes
/// takes 25 ms, and programs list a folder more than once.
struct DirectoryCaches: Sendable {
    /// All inputs of a listing, read before the listing is created.
    ///
    /// Listings with an equal basis have equal names, in the same order.
    struct Basis: Equatable, Sendable {
        /// A show's folder or a subfolder of it. Its names come from the show's rows.
        var folder: NodeNumber
        /// `Library.changeCounter()`.
        var library: Int64
        /// The number of the last change that the daemon has reported.
        var change: UInt64
        /// `AccessTimes.changes`.
        var accesses: UInt64
        /// The time of the last addition to or removal from the feeds folder.
        var feeds: Moment?
        /// The time of the last addition to or removal from the assets folder.
        var assets: Moment?

        struct Moment: Equatable, Sendable {
            var seconds: Int
            var nanoseconds: Int

            /// Reads the time of the last change of a folder's names; `nil` if the folder does not exist.
            init?(of folder: FilePath) {
                var status = stat()
                guard stat(folder.string, &status) == 0 else { return nil }
                (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
            }
        }
    }

    private struct Folder {
        var cache = DirectoryCache()
        /// The names that the kernel may return from its cache to open streams (opened directories), the latest last.
        var names: [FolderSnapshot] = []

        /// Adds the names of a stream that fills the cache.
        mutating func add(_ snapshot: FolderSnapshot) {
            guard !names.contains(where: { $0.base == snapshot.base }) else { return }
            names.append(snapshot)
            if names.count > DirectoryCaches.maxListings { names.removeFirst() }
        }
    }

    /// The maximum number of listings stored per folder. A program needs more only if it keeps the folder open during
    /// as many changes, and reads the folder again after each.
    private static let maxListings = 8
    /// The limit at which offsets start again at 1: 31 bits, for programs with a 32-bit `off_t`. A folder of ten
    /// thousand names reaches it after 200,000 changes.
    private static let offsetLimit: UInt64 = 1 << 31

    /// The state of the kernel's caches. A folder is removed when the kernel forgets it, unless a stream still
    /// uses its cache.
    private var folders: [NodeNumber: Folder] = [:]
    /// Number of attribute invalidations so far, by FORGET or by our own notification.
    private var invalidations: UInt64 = 0
    /// The names in the folders of the show that was listed last.
    private var recent: [NodeNumber: (basis: Basis, names: FolderSnapshot)] = [:]
    /// The basis of each folder's last listing, and the offset before its first name (`FolderSnapshot.base`).
    private var bases: [NodeNumber: (basis: Basis, offset: UInt64)] = [:]
    /// The first offset that no listing has used.
    private var nextOffset: UInt64 = 1

    // MARK: Names

    /// Returns the stored names of this basis; `nil` if there are none.
    func names(_ basis: Basis) -> FolderSnapshot? {
        recent[basis.folder].flatMap { $0.basis == basis ? $0.names : nil }
    }

    /// Assigns offsets to names, and stores the names. Two listings share offsets only if they have an equal basis.
    ///
    /// - Parameter isStable: Whether the basis was the same after the names were read. If it had changed, another
    ///   listing with this basis may have different names.
    mutating func store(_ names: FolderSnapshot, _ basis: Basis, isStable: Bool) -> FolderSnapshot {
        var names = names
        if isStable, let known = bases[basis.folder], known.basis == basis {
            names.base = known.offset
        } else {
            // One offset for each name, and for `.` and `..`; the base itself is unused.
            let count = UInt64(names.items.count) + 3
            if nextOffset + count > Self.offsetLimit { nextOffset = 1 }
            names.base = nextOffset
            nextOffset += count
            if isStable { bases[basis.folder] = (basis, names.base) }
        }
        if recent.keys.first?.row != basis.folder.row { recent = [:] }
        recent[basis.folder] = (basis, names)
        return names
    }

    // MARK: Streams

    /// Determines how a stream is opened; call before the reply to the opendir.
    ///
    /// - Parameter isCurrent: Whether nothing has changed since the names were read. A stream of outdated names must
    ///   not use the kernel's cache, because `change` was called before the stream was opened and could not mark it.
    mutating func open(
        _ folder: NodeNumber, _ handle: FileHandle, _ names: FolderSnapshot, isCurrent: Bool
    ) -> DirectoryCache.Answer {
        guard names.isCacheable, isCurrent else { return DirectoryCache.Answer(use: .bypasses) }
        let inputs = DirectoryCache.OpenInputs(
            listing: names.base, count: names.items.count + 2, now: SystemClock.monotonic.now,
            invalidations: invalidations)
        let answer = folders[folder, default: Folder()].cache.open(handle.rawValue, inputs)
        if answer.use.usesCache {
            var names = names
            names.end = answer.end
            if answer.use == .fills { folders[folder]?.names = [] }
            folders[folder]?.add(names)
        }
        return answer
    }

    /// The kernel's cache of a folder.
    subscript(folder: NodeNumber) -> DirectoryCache? {
        get { folders[folder]?.cache }
        _modify {
            // The cache is moved out and back, so that a modification does not copy the table of streams.
            let index = folders.index(forKey: folder)
            var cache = index.map { folders.values[$0].cache }
            if let index { folders.values[index].cache = DirectoryCache() }
            defer { if let index, let cache { folders.values[index].cache = cache } }
            yield &cache
        }
    }

    /// Rewinds a stream to these names.
    mutating func rewind(_ folder: NodeNumber, _ handle: FileHandle, to names: FolderSnapshot) {
        guard let isAlone = folders[folder]?.cache.rewind(handle.rawValue, to: names.base) else { return }
        if isAlone { folders[folder]?.names = [] }
        if folders[folder]?.cache.has(handle.rawValue) ?? false { folders[folder]?.add(names) }
    }

    /// Returns the names for an offset that a stream got from the kernel's cache.
    func names(of folder: NodeNumber, at offset: UInt64) -> FolderSnapshot? {
        folders[folder]?.names.last { $0.position(of: offset) != nil }
    }

    mutating func close(_ folder: NodeNumber, _ handle: FileHandle) {
        folders[folder]?.cache.close(handle.rawValue)
        if folders[folder]?.cache.isIdle ?? false { folders[folder]?.names = [] }
    }

    /// Records that names in any folder may have changed.
    ///
    /// - Returns: The folders whose cache the kernel must drop.
    mutating func change() -> [NodeNumber] { folders.keys.filter { folders[$0]?.cache.change() ?? false } }

    /// Records that the kernel has forgotten a node, and with it the attributes.
    mutating func forget(_ node: NodeNumber) {
        invalidations += 1
        if folders[node]?.cache.isIdle ?? false { folders[node] = nil }
    }

    /// Records an invalidation of a node's attributes.
    mutating func invalidateAttributes() { invalidations += 1 }
}
