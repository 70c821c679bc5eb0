internal import Fuse
internal import Glibc
internal import Platform
internal import SystemPackage

/// The state of the kernel's caches of all folders' names; see `DirectoryCache`.
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

    /// The state of the kernel's caches. A folder is removed when the kernel forgets it, unless a stream still
    /// uses its cache.
    private var folders: [NodeNumber: DirectoryCache] = [:]
    /// Number of attribute invalidations so far, by FORGET or by our own notification.
    private var invalidations: UInt64 = 0
    /// The names in the folders of the show that was listed last.
    private var recent: [NodeNumber: FolderSnapshot] = [:]

    // MARK: Names

    /// Returns the stored names of this basis; `nil` if there are none.
    func names(_ basis: Basis) -> FolderSnapshot? { recent[basis.folder].flatMap { $0.basis == basis ? $0 : nil } }

    /// Stores the names of a folder.
    mutating func store(_ names: FolderSnapshot) {
        if recent.keys.first?.row != names.number.row { recent = [:] }
        recent[names.number] = names
    }

    // MARK: Streams

    /// Determines how a stream is opened; call before the reply to the opendir.
    ///
    /// - Parameter isCurrent: Whether nothing has changed since the names were read. A stream of outdated names must
    ///   not use the kernel's cache, because `change` was called before the stream was opened and could not mark it.
    mutating func open(_ handle: FileHandle, _ names: FolderSnapshot, isCurrent: Bool) -> DirectoryCache.Use {
        guard let basis = names.basis, isCurrent, !names.fillsPages else { return .bypasses }
        let inputs = DirectoryCache.OpenInputs(
            listing: basis, count: names.items.count + 2, now: SystemClock.monotonic.now, invalidations: invalidations)
        return folders[names.number, default: DirectoryCache()].open(handle.rawValue, inputs)
    }

    /// The kernel's cache of a folder.
    subscript(folder: NodeNumber) -> DirectoryCache? {
        get { folders[folder] }
        _modify { yield &folders[folder] }
    }

    /// Records that names in any folder may have changed.
    ///
    /// - Returns: The folders whose cache the kernel must drop.
    mutating func change() -> [NodeNumber] { folders.keys.filter { folders[$0]?.change() ?? false } }

    /// Records that the kernel has forgotten a node, and with it the attributes.
    mutating func forget(_ node: NodeNumber) {
        invalidations += 1
        if folders[node]?.isIdle ?? false { folders[node] = nil }
    }

    /// Records an invalidation of a node's attributes.
    mutating func invalidateAttributes() { invalidations += 1 }
}
