internal import Fuse
internal import Glibc
internal import Platform
internal import SystemPackage

/// A model of the kernel's cache of one folder's names. It decides how directory streams (opendir(3)) of the folder are
/// opened. A listing is the folder's names at one time.
///
/// The kernel caches the names that it lists for streams opened with FOPEN_CACHE_DIR. All these streams fill the same
/// cache, and each of them that reads from the start gets the names from it (fuse_readdir_cached in
/// fs/fuse/readdir.c). An open without FOPEN_KEEP_CACHE clears the cache, before open(2) returns. This has
/// consequences:
/// - The names of an older stream may reach the kernel after an invalidation, and after a younger stream was opened. So
///   a stream uses the cache only if all other open streams that use it have the same listing.
/// - The opens of two streams may return in another order than their replies. So after the reply to an open that clears
///   the cache, no other stream may use the cache until the next request of the clearing stream.
/// - The kernel caches an entry if its offset follows that of the last cached one. An entry has the same offset in all
///   listings, so a cache that is filled across a change has names of two listings. It is dropped as soon as it is
///   complete: a stream that is rewound before the invalidation has reached the kernel still gets them.
/// - If the cache is cleared while it is partially filled, the kernel continues to wait for the entry after the last
///   cached one, and caches no other: the cache stays empty until the kernel forgets the folder. So the cache is
///   cleared only when it is complete or empty. If a stream was closed before the end of its names, a stream of the
///   next listing completes the cache, which is then dropped. If the name for which the kernel waits is gone, the
///   kernel caches no names of the folder until it forgets it.
///
/// The functions have no side effects outside this value: the caller acts on their results.
struct DirectoryCache: Sendable, Equatable {
    /// The use of the kernel's cache by a stream.
    enum Use: Sendable, Equatable {
        /// The stream clears the kernel's cache and fills it again.
        case fills
        /// The stream reads from the cache, or continues to fill it.
        case shares
        /// The stream requests all names, with attributes, and does not use the cache.
        case bypasses

        /// FOPEN_CACHE_DIR.
        var usesCache: Bool { self != .bypasses }
        /// FOPEN_KEEP_CACHE.
        var keepsCache: Bool { self != .fills }
    }

    /// The inputs known when a stream is opened.
    struct OpenInputs: Sendable, Equatable {
        /// The inputs of the stream's listing.
        var listing: DirectoryCaches.Basis
        /// The number of its names, including `.` and `..`.
        var count: Int
        /// The time on `SystemClock.monotonic`.
        var now: Instant
        /// Number of attribute invalidations so far, by FORGET or by our own notification.
        var invalidations: UInt64
    }

    /// The maximum age at which a cached listing is used: half of the time for which the kernel caches the attributes
    /// sent with it. Once these have expired, the kernel would request the attributes of each entry separately.
    static let maxAge = Duration.seconds(43_200)
    /// A cached listing is used until one in `share` of its entries has lost its cached attributes. The kernel requests
    /// these separately, and each request takes eight times as long as an entry in a listing with attributes.
    static let share: UInt64 = 8

    /// The inputs of the last stream that filled the cache, or that shared a partially filled one when `hasAttributes`
    /// was false; `nil` before the first stream, after the kernel rejected the opendir reply of the filling stream,
    /// and once the cache may have names of two listings.
    private var lastFill: OpenInputs?
    /// The stream that clears the cache, until the kernel is known to have done so.
    private var clearingStream: UInt64?
    /// The streams that use the cache, by handle, with whether the cache has to be dropped when they reach the end:
    /// names have changed, or the cache has names of another listing.
    private var streams: [UInt64: Bool] = [:]
    /// Whether a stream has reached the end of its names since the cache was cleared: the kernel may have all of them.
    private var isFilled = false
    /// Whether names were requested since, but not to the end.
    private(set) var isPartial = false

    /// Opens a stream; must be called before the reply to the opendir.
    mutating func open(_ handle: UInt64, _ inputs: OpenInputs) -> Use {
        if let lastFill, lastFill.listing == inputs.listing, clearingStream == nil {
            let hasAttributes = hasAttributes(of: lastFill, inputs)
            // As long as the cache is incomplete, the kernel requests the names, and gets their attributes with them.
            if hasAttributes || !isFilled {
                if !hasAttributes { self.lastFill = inputs }
                streams[handle] = false
                return .shares
            }
        }
        guard streams.isEmpty else { return .bypasses }
        streams[handle] = isPartial
        lastFill = isPartial ? nil : inputs
        if isPartial { return .shares }
        clearingStream = handle
        isFilled = false
        return .fills
    }

    /// Whether the kernel still has enough of the attributes that were sent with the names; see `maxAge` and `share`.
    private func hasAttributes(of lastFill: OpenInputs, _ inputs: OpenInputs) -> Bool {
        inputs.now - lastFill.now < Self.maxAge
            && (inputs.invalidations &- lastFill.invalidations) * Self.share <= UInt64(inputs.count)
    }

    /// Removes a stream whose opendir reply was not accepted.
    mutating func abandon(_ handle: UInt64) {
        if clearingStream == handle { lastFill = nil }
        close(handle)
    }

    /// Records that a stream requests names.
    ///
    /// - Returns: Whether the names have changed: a stream that reads from the start must then get the current ones.
    mutating func requested(_ handle: UInt64) -> Bool {
        if clearingStream == handle { clearingStream = nil }
        guard let isOutdated = streams[handle] else { return false }
        if !isFilled { isPartial = true }
        return isOutdated
    }

    /// Records that a request of a stream has reached the end of its names.
    ///
    /// - Returns: Whether the kernel must drop its cache, after the reply.
    mutating func finished(_ handle: UInt64) -> Bool {
        guard let isOutdated = streams[handle] else { return false }
        (isFilled, isPartial) = (!isOutdated, false)
        return isOutdated
    }

    /// Rewinds a stream, possibly to another listing.
    mutating func rewind(_ handle: UInt64, to listing: DirectoryCaches.Basis?) {
        guard streams[handle] != nil, lastFill == nil || lastFill?.listing != listing else { return }
        streams[handle] = true
        lastFill = nil
    }

    /// Records changed names. An open stream must return them after its next rewinddir(3), so the kernel must send a
    /// request then.
    ///
    /// - Returns: Whether the kernel must drop its cache now. If the cache is being filled, `finished` returns true
    ///   later instead.
    mutating func change() -> Bool {
        for handle in streams.keys { streams[handle] = true }
        guard !streams.isEmpty else { return false }
        defer { isFilled = false }
        return isFilled
    }

    mutating func close(_ handle: UInt64) {
        streams[handle] = nil
        if clearingStream == handle { clearingStream = nil }
    }

    /// Whether no stream uses the cache.
    var isIdle: Bool { streams.isEmpty }
}

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
        /// The time of the last addition to or removal from the feeds folder, in nanoseconds since 1970.
        var feeds: Int?
        /// The time of the last addition to or removal from the assets folder.
        var assets: Int?

        /// Reads the time of the last change of a folder's names; `nil` if the folder does not exist.
        static func moment(of folder: FilePath) -> Int? {
            var status = stat()
            guard stat(folder.string, &status) == 0 else { return nil }
            return status.st_mtim.tv_sec &* 1_000_000_000 &+ status.st_mtim.tv_nsec
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
