internal import Fuse
internal import PodcastLibrary
internal import TransferCore

/// The kernel's view of the mount's nodes, and the invalidations that are on their way to it.
///
/// The kernel answers stat(2), lookups, listings and reads from what it was told before, for as long as a day. So every
/// answer and every change passes through this value, which says what may be told and what must be invalidated first.
///
/// Pure: the caller sends the invalidations that a call returns, in the order of the calls, and reports the delivered
/// ones. `KernelCacheSimulation` in the tests has the kernel's own rules.
struct KernelCache: Sendable {
    var changes = ChangeLog()
    var accessTimes = AccessTimes()
    var grants = GrantedSizes()
    var directories = DirectoryCaches()
    var terms = SearchTerms()
    private var links: [LinkFolder: LinkRecord] = [:]
    private var nodes: [NodeNumber: Node] = [:]
    /// The nodes whose size was pushed and not asked for yet; see `mayBeInvalidated`.
    private var unasked: Set<NodeNumber> = []

    /// A node that is open, or whose size was pushed.
    private struct Node {
        var mode = HandleMode.closed
        /// The size that the kernel was last made to ask for. What it learned by a lookup before may be a guess of the
        /// feed's, and a read ends where it believes the file to end.
        var size: Int64?
        /// The invalidation for a size is on its way.
        var isPushing = false
        /// The range of a refused read beyond the end.
        var refusedTail: Range<Int64>?
    }

    // MARK: Answers

    /// Announces an answer to the kernel about a node's attributes. To be called before the row is read, so that no
    /// change falls between.
    ///
    /// - Returns: whether changes were withheld from the kernel: what was read before is out of date.
    @discardableResult
    mutating func willAnswer(_ number: NodeNumber) -> Bool {
        unasked.isEmpty ? false : unasked.remove(number) != nil
    }

    /// Notes the size in an answer to the kernel. If it is another than at the last open, the next open pushes it
    /// again.
    mutating func told(_ size: Int64, of number: NodeNumber) {
        if let known = nodes[number]?.size, known != size { nodes[number]?.size = nil }
    }

    /// Whether all that was gathered when `change` was the last one may be told as it is.
    func isCurrent(since change: UInt64) -> Bool { changes.last <= change && unasked.isEmpty }

    /// Whether an episode that was gathered at `change` has to be read again before the kernel is told of it.
    mutating func isOutdated(_ number: NodeNumber, since change: UInt64) -> Bool {
        willAnswer(number) || changes.hasChanged(number.episode, since: change)
    }

    // MARK: Sizes

    enum SizePush {
        /// The kernel has it: the open may be answered.
        case isKnown
        /// The open waits for an invalidation that is on its way.
        case isUnderWay
        /// The attributes have to be invalidated first, then `pushed` to be called.
        case begins
    }

    /// Makes the kernel ask for the size of a file that is about to be opened.
    ///
    /// Once, although many may open it at the same time: the kernel discards the answer to a question for attributes
    /// when they are invalidated meanwhile, and would go on with the size that it had.
    mutating func push(_ size: Int64, of number: NodeNumber) -> SizePush {
        if isKnown(size, of: number) { return .isKnown }
        if number.kind == .episode { unasked.insert(number) }
        if nodes[number]?.isPushing == true { return .isUnderWay }
        nodes[number, default: Node()].isPushing = true
        return .begins
    }

    /// The invalidation for a size has reached the kernel.
    mutating func pushed(_ size: Int64, of number: NodeNumber) {
        nodes[number, default: Node()].size = size
        nodes[number]?.isPushing = false
    }

    func isKnown(_ size: Int64, of number: NodeNumber) -> Bool { nodes[number]?.size == size }

    /// Whether the kernel may be told that a node's attributes have changed. Not between the push of a size and the
    /// question that it leads to.
    ///
    /// An invalidation makes the kernel discard what it is about to learn: the answer to a question, and where the file
    /// ended in a read. It would go on with the guess that it had, and give out zeros behind a file that is shorter, or
    /// end one that is longer. Nothing is lost: it will ask.
    private func mayBeInvalidated(_ number: NodeNumber) -> Bool { !unasked.contains(number) }

    // MARK: Handles

    /// Counts a handle; call before the open is answered.
    ///
    /// - Returns: how the handle is opened; `nil` when a backing file is needed: then `opened(_:backing:)` decides.
    mutating func open(_ number: NodeNumber, _ wish: HandleMode.Wish) -> HandleMode.Way? {
        nodes[number, default: Node()].mode.open(wish)
    }

    /// Goes on after an `open` that needed a backing file, in the same critical section.
    mutating func opened(_ number: NodeNumber, backing: BackingID?) -> HandleMode.Way {
        nodes[number, default: Node()].mode.opened(with: backing)
    }

    /// A handle is closed, or the answer to its open was not taken.
    mutating func close(_ number: NodeNumber) {
        guard var node = nodes[number] else { return }
        node.mode.close()
        if node.mode == .closed { node.refusedTail = nil }
        nodes[number] = node.mode == .closed && node.size == nil && !node.isPushing ? nil : node
    }

    func isOpen(_ number: NodeNumber) -> Bool { (nodes[number]?.mode ?? .closed) != .closed }

    /// Whether the handles of a node bypass the page cache.
    func isDirect(_ number: NodeNumber) -> Bool {
        if case .open(.direct, _)? = nodes[number]?.mode { true } else { false }
    }

    /// Sets the time of access: before a handle is counted, or after one is closed.
    ///
    /// - Returns: whether the attributes are to be invalidated: the time has changed, and no handle is open, for which
    ///   a
    ///   question for the size may be under way.
    mutating func access(_ number: NodeNumber, at now: Int64) -> Bool {
        number.kind == .episode && accessTimes.set(number.episode, to: now) && !isOpen(number)
            && mayBeInvalidated(number)
    }

    /// Whether to refuse a read for the page cache beyond the end of the file.
    ///
    /// The kernel asks for such pages when it believes in a larger size: it reads ahead. Told that there is nothing it
    /// would put the end where this read begins, and then not believe the read before it, asked for earlier and
    /// answered later, which knows where the end is (fuse_short_read in fs/fuse/file.c): what is between would be
    /// zeros. A page that could not be read ahead does no harm. It is asked for again when a program wants it, and then
    /// there is no other way to tell that program of the end.
    mutating func refusesTail(_ range: Range<Int64>, of number: NodeNumber) -> Bool {
        if nodes[number]?.refusedTail?.contains(range.lowerBound) == true {
            nodes[number]?.refusedTail = nil
            return false
        }
        nodes[number, default: Node()].refusedTail = range
        return true
    }

    // MARK: Nodes

    /// The kernel has dropped a node, and with it `lookups` of its lookups.
    mutating func forget(_ number: NodeNumber, lookups: UInt64) {
        directories.forget(number)
        if number.kind == .term { terms.forget(Int(number.row), count: lookups) }
    }

    /// The kernel did not take the answer to a lookup.
    mutating func abandonLookup(_ number: NodeNumber) {
        if number.kind == .term { terms.forget(Int(number.row), count: 1) }
    }

    /// An invalidation has reached the kernel, or will never.
    mutating func delivered(_ invalidation: Invalidation) {
        if case .attributes(let number) = invalidation, number.kind == .episode { directories.forgetAttributes() }
    }
}

// MARK: Changes

extension KernelCache {
    /// Returns what the kernel has to forget of an episode that has changed.
    ///
    /// - Parameters:
    ///   - row: the library's, read after the change, when a grant is pending.
    ///   - isRenamed: its name may lead elsewhere now.
    mutating func changed(_ place: Library.EpisodePlace, row: EpisodeEntry?, isRenamed: Bool) -> [Invalidation] {
        let number = NodeNumber(kind: .episode, generation: place.generation, row: place.id)
        changes.add(number.episode)
        var found: [Invalidation] = []
        // A size that an open was answered with has been written down: the kernel knows it.
        let isSettled = row.map { grants.settle($0) } ?? false
        if !isSettled, mayBeInvalidated(number) { found.append(.attributes(number)) }
        let show = place.podcast
        if place.isBuried {
            found += removed(place.name, from: show)
        } else if isRenamed, place.generation > 1 {
            // The name may refer to a node of an older generation.
            found += entries(place.name, in: show)
        }
        return found
    }

    /// The name of an episode leads to another node now.
    func entries(_ name: String, in show: ShowID) -> [Invalidation] {
        folders(of: show).map { .entry(parent: $0, name: name) }
    }

    /// Invalidates a name that no episode has any more.
    func removed(_ name: String, from show: ShowID) -> [Invalidation] {
        entries(name, in: show) + sidecars(of: name, in: show)
    }

    /// Invalidates the names beside an episode: each may have become another file, or none.
    func sidecars(of name: String, in show: ShowID) -> [Invalidation] {
        Sidecar.all.map { .entry(parent: NodeNumber(kind: $0.folder, row: show), name: $0.name(of: name)) }
    }

    /// Files that are generated of a show's rows, and the folders of sidecars, which have the show's time.
    func generatedFiles(of show: ShowID) -> [Invalidation] {
        [NodeNumber.Kind.playlist, .notesFolder, .chaptersFolder].map { .attributes(NodeNumber(kind: $0, row: show)) }
    }

    /// The folders that a show's episodes lie in: its own, and those of the terms that it was found by.
    func folders(of show: ShowID) -> [NodeNumber] {
        [NodeNumber(kind: .show, row: show)] + terms.folders(of: show)
    }

    /// Names may have changed in any folder: one that is open shows that when it is rewound.
    mutating func namesChanged() -> [Invalidation] { directories.change().map { .data($0) } }

    /// Records the links that a folder has now.
    mutating func listed(_ folder: LinkFolder, _ links: [EpisodeLink], now: Int64, started: Int64) -> [Invalidation] {
        guard let record = self.links[folder] else {
            self.links[folder] = LinkRecord(links, changed: started)
            return []
        }
        let (new, invalidations) = record.updated(to: links, in: folder, now: now)
        self.links[folder] = new
        return invalidations
    }

    /// When the names in a folder of links last changed; `nil` while nobody has looked.
    func changed(_ folder: LinkFolder) -> Int64? { links[folder]?.changed }
}
