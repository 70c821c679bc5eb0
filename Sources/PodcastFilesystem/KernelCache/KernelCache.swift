internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The kernel's cached view of the mount's nodes, and the invalidations that have not reached it yet.
///
/// The kernel caches replies for up to a day, and answers stat(2), lookups, listings and reads from them. So every
/// reply and every change passes through this value. It determines what a reply contains, and which invalidations have
/// to be sent first.
///
/// Pure: the caller sends the invalidations that a call returns, in the order of the calls, and reports the delivered
/// ones. `KernelCacheSimulation` in the tests models the kernel's rules.
struct KernelCache: Sendable {
    var changes = ChangeLog()
    var accessTimes = AccessTimes()
    var grants = GrantedSizes()
    var directories = DirectoryCaches()
    /// The names looked up in `.search`.
    var terms = SearchTerms<FoundFolder>()
    /// The names looked up in `.find`.
    var findTerms = SearchTerms<EpisodeID>()
    var views = ViewRecords()
    private var nodes: [NodeNumber: Node] = [:]
    /// The nodes whose attributes the kernel must not cache. To *push* a size is to invalidate the node's attributes,
    /// so that the kernel requests them, with the size. From then on the node is in this set, until none of its handles
    /// is open. Meanwhile changes do not invalidate its attributes.
    ///
    /// The kernel discards a reply with attributes if they are invalidated between its request and its use of the
    /// reply. The use may come late, since the thread that waits for the reply may be scheduled much later. After a
    /// discarded reply the size would remain the feed's guess, or 0. A read would then end at that size without an
    /// error, or return zeros after the end of a shorter file.
    private var uncached: Set<NodeNumber> = []

    /// A node that is open, or whose size was pushed.
    private struct Node {
        var mode = HandleMode()
        /// The size last pushed to the kernel. Opens push the size because reads end at the size that the kernel has
        /// cached, which may be the feed's guess from an earlier lookup.
        var size: Int64?
        /// The ctime in the first reply with attributes that was sent after the size was pushed, while a handle was
        /// open; `nil` if there was no such reply. All replies have this ctime until the last close, although the
        /// library records the size with a later ctime, because GNU tar reports a file whose ctime changes while tar
        /// reads it.
        var changed: Int64?
        /// Whether the invalidation for a size has been sent but not delivered yet.
        var isPushing = false
        /// The number of calls of `pushed`, and of `push` with the result `isKnown`, that no call of `answered` has
        /// followed yet.
        var answering = 0
        /// The range of the last refused read beyond the end.
        var refusedTail: Range<Int64>?
    }

    // MARK: Answers

    /// Prepares a reply with a file's attributes. If its size differs from the one pushed last, the next open pushes
    /// again. But an open file in `Tagged` keeps the pushed size, because its node is one version of the file: another
    /// size is the estimate of a listing that was read before the open.
    ///
    /// - Returns: The attributes to send, and whether the kernel may cache them.
    mutating func prepareReply(_ facts: NodeFacts) -> (facts: NodeFacts, isCached: Bool) {
        let number = facts.number
        var facts = facts
        if let known = nodes[number]?.size, known != facts.size {
            if number.kind == .taggedEpisode, isOpen(number) { facts.size = known } else { nodes[number]?.size = nil }
        }
        guard uncached.contains(number) else { return (facts, true) }
        guard isOpen(number) else { return (facts, false) }
        facts.changed = nodes[number]?.changed ?? facts.changed
        nodes[number]?.changed = facts.changed
        return (facts, false)
    }

    /// Whether a reply with the library's state at `change`, the number of a change in `changes`, may be sent
    /// unmodified and be cached by the kernel.
    func isCurrent(since change: UInt64) -> Bool { changes.last <= change && uncached.isEmpty }

    /// Whether an episode read at `change` has to be read again before it is sent to the kernel.
    func isOutdated(_ number: NodeNumber, since change: UInt64) -> Bool {
        changes.hasChanged(number.episode, since: change)
    }

    /// Whether to send an invalidation. Invalidating attributes that the kernel does not cache would only do harm; see
    /// `uncached`.
    func isEffective(_ invalidation: Invalidation) -> Bool {
        if case .attributes(let number) = invalidation { !uncached.contains(number) } else { true }
    }

    // MARK: Sizes

    /// The result of `push(_:of:)`.
    enum SizePush {
        /// The kernel has the size: the open may be answered, followed by a call of `answered`.
        case isKnown
        /// The open waits for an invalidation that has been sent.
        case isPending
        /// The caller has to invalidate the attributes, call `pushed`, answer the waiting opens and call `answered`, in
        /// this order.
        case isRequired
    }

    /// Makes the kernel request the size of a file that is about to be opened. Concurrent opens share one invalidation,
    /// since a second one would make the kernel discard the reply to the first open's request.
    mutating func push(_ size: Int64, of number: NodeNumber) -> SizePush {
        if isKnown(size, of: number) {
            nodes[number]?.answering += 1
            return .isKnown
        }
        uncached.insert(number)
        nodes[number, default: Node()].changed = nil
        if nodes[number]?.isPushing == true { return .isPending }
        nodes[number, default: Node()].isPushing = true
        return .isRequired
    }

    /// Records that the invalidation for a size has been delivered.
    mutating func pushed(_ size: Int64, of number: NodeNumber) {
        nodes[number, default: Node()].size = size
        nodes[number]?.isPushing = false
        nodes[number]?.answering += 1
    }

    /// Records that all opens that waited for a size have been answered. `open` has counted the handle of each, unless
    /// the open's caller no longer waited.
    ///
    /// - Returns: Whether to invalidate the attributes, for the reason given at `close`. This is necessary if no handle
    ///   is open: no caller waited for its open any more, or each has closed its handle already.
    mutating func answered(_ number: NodeNumber) -> Bool {
        nodes[number]?.answering -= 1
        return removeIfUnused(number)
    }

    /// Whether this size was pushed last, and no reply has contained another one since.
    func isKnown(_ size: Int64, of number: NodeNumber) -> Bool { nodes[number]?.size == size }

    // MARK: Handles

    /// Counts a handle, and returns its mode; call before the open is answered.
    ///
    /// - Parameter register: See `HandleMode.open`.
    mutating func open(
        _ number: NodeNumber, _ preference: HandleMode.Preference, register: () -> BackingID? = { nil }
    ) -> HandleMode.IOMode {
        nodes[number, default: Node()].mode.open(preference, register: register)
    }

    /// Removes a handle that was closed, or whose open reply was rejected.
    ///
    /// - Returns: Whether to invalidate the attributes, since the kernel may cache them from now on. A reply that is
    ///   being prepared may contain outdated attributes, because changes led to no invalidation as long as the node was
    ///   in `uncached`.
    mutating func close(_ number: NodeNumber) -> Bool {
        nodes[number]?.mode.close()
        return removeIfUnused(number)
    }

    /// Removes the state that applies only while handles are open, or about to be opened.
    ///
    /// - Returns: Whether the kernel may cache the attributes from now on.
    private mutating func removeIfUnused(_ number: NodeNumber) -> Bool {
        guard var node = nodes[number], !node.mode.isOpen, !node.isPushing, node.answering == 0 else { return false }
        node.refusedTail = nil
        let isCachedNow = uncached.remove(number) != nil
        // No attributes were sent after the push while a handle was open, so the kernel may still have an earlier size.
        if isCachedNow, node.changed == nil { node.size = nil }
        nodes[number] = node.size == nil ? nil : node
        return isCachedNow
    }

    func isOpen(_ number: NodeNumber) -> Bool { nodes[number]?.mode.isOpen ?? false }

    /// Whether the handles of a node bypass the page cache.
    func isDirect(_ number: NodeNumber) -> Bool {
        nodes[number]?.mode.isDirect ?? false
    }

    /// Sets the access time. Call before `open` counts a handle, or after `close` removes one.
    ///
    /// - Returns: Whether to invalidate the attributes. This is so if the time has changed, unless a handle is open or
    ///   the kernel caches no attributes: a request for the size may then be pending, and the kernel would discard its
    ///   reply.
    mutating func access(_ number: NodeNumber, at now: Int64) -> Bool {
        number.kind == .episode && accessTimes.set(number.episode, to: now) && !isOpen(number)
            && !uncached.contains(number)
    }

    /// Whether to refuse a readahead beyond the end of the file. Records the refused range: the next read that starts
    /// in it is not refused.
    ///
    /// The kernel reads such pages ahead if it has cached a larger size. After an empty reply it would set the end of
    /// the file to the start of this read. If a read before it is answered later, with the true end, the kernel would
    /// ignore that end (fuse_short_read in fs/fuse/file.c), and the bytes from there to the wrong end would be zeros. A
    /// failed readahead is harmless: when a program needs the page, the kernel requests it again, and the empty reply
    /// to that request reports the end.
    mutating func refusesTail(_ range: Range<Int64>, of number: NodeNumber) -> Bool {
        if nodes[number]?.refusedTail?.contains(range.lowerBound) == true {
            nodes[number]?.refusedTail = nil
            return false
        }
        nodes[number, default: Node()].refusedTail = range
        return true
    }

    // MARK: Nodes

    /// Handles a forget request, which subtracts `lookups` from a node's lookup count.
    mutating func forget(_ number: NodeNumber, lookups: UInt64) {
        directories.forget(number)
        // The size that the kernel had is forgotten with the node. If the kernel still knows the node, the next open
        // pushes the size once more.
        if let node = nodes[number], !node.mode.isOpen, !node.isPushing, node.answering == 0 { nodes[number] = nil }
        forgetTerm(number, lookups: lookups)
        if number.kind == .view { views.forget(number.view) }
    }

    /// Reverts lookups of which the kernel knows nothing any more, or whose replies it rejected.
    mutating func forgetTerm(_ number: NodeNumber, lookups: UInt64) {
        if number.kind == .term { terms.forget(Int(number.row), count: lookups) }
        if number.kind == .findTerm { findTerms.forget(Int(number.row), count: lookups) }
    }
}

// MARK: Changes

extension KernelCache {
    /// Records a changed episode, and returns the invalidations for it.
    ///
    /// - Parameters:
    ///   - row: The episode's row in the library, read after the change, if a grant is pending for the episode. A
    ///     *grant* is a size that the daemon has confirmed and that the library may not contain yet.
    ///   - isRenamed: Whether the episode's name may refer to another node now.
    mutating func changed(_ place: Library.EpisodePlace, row: EpisodeEntry?, isRenamed: Bool) -> [Invalidation] {
        let number = NodeNumber(kind: .episode, generation: place.generation, row: place.id)
        changes.add(number.episode)
        if let row { grants.markRecorded(row) }
        var found: [Invalidation] = [.attributes(number)]
        let show = place.podcast
        if place.isBuried {
            found += entries(of: place)
            if place.alternateOf == nil { found += sidecars(of: place.name, in: show) }
        } else if isRenamed, place.generation > 1 {
            // The name may refer to a node of an older generation.
            found += entries(of: place)
        }
        return found
    }

    /// Returns the invalidations of the name of an episode's current file, in all folders that list it.
    func entries(of place: Library.EpisodePlace) -> [Invalidation] {
        guard let episode = place.alternateOf else { return entries(place.name, in: place.podcast) }
        return [.entry(parent: NodeNumber(kind: .episodeAlternates, row: episode), name: place.fileName)]
    }

    /// Returns the invalidations of the name of an episode, in all folders of its show.
    func entries(_ name: String, in show: ShowID) -> [Invalidation] {
        folders(of: show).map { .entry(parent: $0, name: name) }
    }

    /// Returns the invalidations of a name that no episode has any more, and of the names of its sidecars (the files
    /// and folders that belong to an episode).
    func removed(_ name: String, from show: ShowID) -> [Invalidation] {
        entries(name, in: show) + sidecars(of: name, in: show)
    }

    /// Returns the invalidations of the names of an episode's sidecars, each of which may refer to another file or to
    /// none.
    func sidecars(of name: String, in show: ShowID) -> [Invalidation] {
        Sidecar.all.map { .entry(parent: NodeNumber(kind: $0.folder, row: show), name: $0.name(of: name)) }
    }

    /// Returns the invalidations of a show's playlist, and of its sidecar folders, which have the show's times.
    func generatedFiles(of show: ShowID) -> [Invalidation] {
        [NodeNumber.Kind.playlist, .notesFolder, .chaptersFolder, .alternates].map {
            .attributes(NodeNumber(kind: $0, row: show))
        }
    }

    /// Returns the folders that contain a show's episodes: its own, and those of the search terms that found it.
    func folders(of show: ShowID) -> [NodeNumber] {
        [NodeNumber(kind: .show, row: show)] + terms.folders(of: show)
    }

    /// Records that names may have changed in any folder, so that an open directory stream returns the new ones after
    /// rewinddir(3). Returns the invalidations of cached listings.
    mutating func namesChanged() -> [Invalidation] { directories.change().map { .data($0) } }
}

/// A log of the changes that the daemon reports, numbered in their order. It shows whether data read earlier is still
/// current.
struct ChangeLog: Sendable {
    /// The maximum number of episodes recorded individually. A refresh of a feed with 100,000 items can
    /// change all of them at once.
    static let capacity = 4_096

    /// The number of the last change.
    private(set) var last: UInt64 = 0
    /// The number of each episode's last change.
    private var episodes: [EpisodeID: UInt64] = [:]
    /// The last change whose individual record was dropped: any episode may have changed up to this change.
    private var dropped: UInt64 = 0

    /// Records a change that is not specific to an episode.
    mutating func add() { last += 1 }

    mutating func add(_ episode: EpisodeID) {
        last += 1
        if episodes.count >= Self.capacity {
            dropped = last - 1
            episodes = [:]
        }
        episodes[episode] = last
    }

    func hasChanged(_ episode: EpisodeID, since change: UInt64) -> Bool { episodes[episode, default: dropped] > change }
}

/// The times at which episodes were last opened or closed in this mount, in seconds since 1970. Reported as `st_atime`.
struct AccessTimes: Sendable {
    /// The number of entries from which on a table is pruned.
    private static let capacity = 4_096
    /// The maximum time in seconds from an open until the library has recorded it.
    private static let libraryDelay: Int64 = 60

    /// The number of changes of access times so far.
    private(set) var changes: UInt64 = 0
    private var times: [EpisodeID: Int64] = [:]
    /// For each episode, the time of the last open that was reported to the daemon.
    private var reported: [EpisodeID: Int64] = [:]
    /// The time of the last pruning, in seconds since 1970. A second one in the same second would remove nothing, and
    /// a program that opens thousands of episodes in a minute would cause one with every open.
    private var pruned: Int64 = 0

    subscript(episode: EpisodeID) -> Int64? { times[episode] }

    /// Sets the access time of an episode.
    ///
    /// - Returns: Whether the time has changed.
    mutating func set(_ episode: EpisodeID, to now: Int64) -> Bool {
        guard times[episode] != now else { return false }
        prune(at: now)
        times[episode] = now
        changes += 1
        return true
    }

    /// Records an open, and returns whether to report it to the daemon. At most one open per second and episode is
    /// reported, because the library records whole seconds.
    mutating func report(openOf episode: EpisodeID, at now: Int64) -> Bool {
        prune(at: now)
        return reported.updateValue(now, forKey: episode) != now
    }

    /// Removes the times older than `libraryDelay`, and the reported opens of earlier seconds.
    private mutating func prune(at now: Int64) {
        guard max(times.count, reported.count) >= Self.capacity, pruned != now else { return }
        pruned = now
        times = times.filter { $0.value + Self.libraryDelay > now }
        reported = reported.filter { $0.value == now }
    }
}
