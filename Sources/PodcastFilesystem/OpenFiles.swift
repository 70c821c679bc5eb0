internal import ContentCache
internal import Fuse
internal import Synchronization
internal import SystemPackage
internal import TransferCore

/// Open files and folders by handle, and the mode of each node that is open.
final class OpenFiles: Sendable {
    private struct State {
        var files: [UInt64: OpenFile] = [:]
        var folders: [UInt64: OpenFolder] = [:]
        var last: UInt64 = 0
        /// How each node that is open is read.
        var modes: [NodeNumber: HandleMode<BackedFile>] = [:]
        /// The cache file of each node of which a handle has known one, until none is open: of the others' reads the kernel
        /// may have answered all.
        var held: [NodeNumber: HeldFile] = [:]
        /// What each of these files was called last: the library learns of a file a moment after its first reader.
        var names: [NodeNumber: String] = [:]
        /// Where the kernel takes files to read by itself.
        var backings: (any BackingFileTaker)?
        /// The size that the kernel was last made to ask for, of nodes that were opened. What it learned by a lookup before
        /// may be a guess of the feed's, and a read ends where it believes the file to end.
        var knownSizes: [NodeNumber: Int64] = [:]
        /// What waits until the kernel has been told.
        var awaitedSizes: [NodeNumber: [@Sendable () -> Void]] = [:]
        /// Episodes whose size the kernel has been made to ask for, and has not asked for yet.
        var unasked: Set<NodeNumber> = []
        /// Where a read behind the end was refused.
        var refusedTails: [NodeNumber: Range<Int64>] = [:]
        /// The number of an episode's last change among all changes.
        var changes: [EpisodeID: UInt64] = [:]
        /// The last change of those that have been forgotten: every episode may have changed until then.
        var forgottenChange: UInt64 = 0
        var lastChange: UInt64 = 0
        /// When an episode was last opened or closed in this mount, in seconds.
        var accessed: [EpisodeID: Int64] = [:]
        /// How often that has changed.
        var accesses: UInt64 = 0
        /// When the daemon was last told of an open, in seconds.
        var told: [EpisodeID: Int64] = [:]
    }

    private let state = Mutex(State())

    /// Episodes of which something is remembered beyond the last close: more than are used at the same time. A feed of
    /// 100,000 items changes as many at once.
    private static let mostRemembered = 4_096
    /// Seconds after which the library knows what has happened to a file.
    private static let libraryDelay: Int64 = 60
    /// Whether any size has been known.
    private let knowsSizes = Atomic(false)

    struct Opened {
        var handle: FileHandle
        var way: HandleMode<BackedFile>.Way
        /// The kernel has another time of access, and nobody else has the node open.
        var hasNewTime = false
    }

    /// Before the first open.
    func giveBackings(to taker: (any BackingFileTaker)?) { state.withLock { $0.backings = taker } }

    /// To be called before the open is answered; the handle counts from here on until `remove`.
    func add(_ file: OpenFile, _ wish: HandleMode<BackedFile>.Wish, now: Int64) -> Opened {
        state.withLock { state in
            state.last += 1
            state.files[state.last] = file
            let hasNewTime = Self.access(file.number, &state, now)
            var mode = state.modes[file.number] ?? .closed
            let way: HandleMode<BackedFile>.Way
            switch mode.open(wish) {
            case .opened(let opened): way = opened
            // Under the lock: no second open may begin another mode, nor another backing file, meanwhile.
            case .needsBacking: way = mode.opened(with: Self.back(file, state.backings))
            }
            state.modes[file.number] = mode
            Self.hold(file, &state)
            return Opened(
                handle: FileHandle(rawValue: state.last), way: way, hasNewTime: hasNewTime && mode.handles == 1)
        }
    }

    private static func back(_ file: OpenFile, _ taker: (any BackingFileTaker)?) -> BackedFile? {
        guard let taker, let (reader, name, total) = file.whole,
            let backing = reader.withDescriptor({ taker.register($0) })
        else { return nil }
        return BackedFile(backing: backing, reader: reader, name: name, total: total)
    }

    /// The cache file that the kernel reads by itself for the handles of a node that are open.
    func backed(_ number: NodeNumber) -> BackedFile? {
        state.withLock { state in
            guard case .passthrough(let file, _)? = state.modes[number] else { return nil }
            return file
        }
    }

    /// A handle has come to know its cache file, which stays now until the node's last handle is closed.
    func hold(_ file: OpenFile) {
        state.withLock { state in
            // The answer to a read may come when all are closed.
            if state.modes[file.number] != nil { Self.hold(file, &state) }
        }
    }

    private static func hold(_ file: OpenFile, _ state: inout State) {
        guard file.number.kind == .episode, state.held[file.number] == nil, let held = file.held else { return }
        state.held[file.number] = held
        state.names[file.number] = held.name
    }

    /// The cache file that the handles of a node hold, or the name of that which they held when some were open.
    func held(_ number: NodeNumber) -> (file: HeldFile?, name: String?) {
        state.withLock { ($0.held[number], $0.names[number]) }
    }

    /// - Returns: whether an episode's time of access has changed.
    private static func access(_ number: NodeNumber, _ state: inout State, _ now: Int64) -> Bool {
        guard number.kind == .episode, state.accessed[number.episode] != now else { return false }
        if state.accessed.count >= mostRemembered {
            // The daemon has been told of these, and the library has their times.
            state.accessed = state.accessed.filter { $0.value + libraryDelay > now }
            let open = state.held
            state.names = state.names.filter { open[$0.key] != nil || state.accessed[$0.key.episode] != nil }
        }
        state.accessed[number.episode] = now
        state.accesses += 1
        return true
    }

    func file(_ handle: FileHandle) -> OpenFile? { state.withLock { $0.files[handle.rawValue] } }

    /// - Returns: the file, and whether the kernel has another time of access and nobody else has the node open.
    func remove(_ handle: FileHandle, now: Int64) -> (file: OpenFile, hasNewTime: Bool)? {
        state.withLock { state in
            guard let file = state.files.removeValue(forKey: handle.rawValue) else { return nil }
            let hasNewTime = Self.access(file.number, &state, now)
            state.modes[file.number]?.close()
            if state.modes[file.number]?.handles == 0 {
                state.modes[file.number] = nil
                state.held[file.number] = nil
                state.refusedTails[file.number] = nil
            }
            return (file, hasNewTime && state.modes[file.number] == nil)
        }
    }

    /// Whether the handles of a node bypass the page cache.
    func isDirect(_ number: NodeNumber) -> Bool {
        state.withLock { state in
            guard case .direct? = state.modes[number] else { return false }
            return true
        }
    }

    func isKnown(_ size: Int64, of number: NodeNumber) -> Bool { state.withLock { $0.knownSizes[number] == size } }

    enum SizeNews {
        /// The kernel has it.
        case isKnown
        /// The kernel is being told; `next` will be called.
        case isAwaited
        /// The kernel is to be told, and then `setKnown` to be called, which has `next` among its answers.
        case isNews
    }

    func awaitSize(
        _ size: Int64, of number: NodeNumber, then next: @escaping @Sendable () -> Void
    ) -> SizeNews {
        state.withLock { state in
            if state.knownSizes[number] == size { return .isKnown }
            let isFirst = state.awaitedSizes[number] == nil
            state.awaitedSizes[number, default: []].append(next)
            if number.kind == .episode { state.unasked.insert(number) }
            return isFirst ? .isNews : .isAwaited
        }
    }

    /// The kernel is being told a size in answer to a question of its own: should it be another than at the last opening,
    /// the next one has news again.
    func tell(_ size: Int64, of number: NodeNumber) {
        // Asked for each name of a listing.
        guard knowsSizes.load(ordering: .acquiring) else { return }
        state.withLock { state in
            if let known = state.knownSizes[number], known != size { state.knownSizes[number] = nil }
        }
    }

    /// - Returns: what was to be done when the kernel has been told.
    func setKnown(_ size: Int64, of number: NodeNumber) -> [@Sendable () -> Void] {
        knowsSizes.store(true, ordering: .releasing)
        return state.withLock { state in
            state.knownSizes[number] = size
            return state.awaitedSizes.removeValue(forKey: number) ?? []
        }
    }

    /// Whether to refuse a read for the page cache that lies behind the end of the file.
    ///
    /// The kernel asks for such pages when it believes in a larger size: it reads ahead. Told that there is nothing it
    /// would put the end where this read begins, and then not believe the read before it, asked for earlier and answered
    /// later, which knows where the end is (fuse_short_read in fs/fuse/file.c): what is between would be zeros. A page
    /// that could not be read ahead does no harm. It is asked for again when a program wants it, and then there is no
    /// other way to tell that program of the end.
    func refusesTail(_ range: Range<Int64>, of number: NodeNumber) -> Bool {
        state.withLock { state in
            if let refused = state.refusedTails[number], refused.contains(range.lowerBound) {
                state.refusedTails[number] = nil
                return false
            }
            state.refusedTails[number] = range
            return true
        }
    }

    // MARK: Changes

    /// Whether the kernel is still to ask for the size that it was told of, and must not be told of changes before.
    ///
    /// When it is told that attributes have changed it throws away what it is just about to learn of them: the answer to
    /// a question, and where the file ended in a read. It would go on with the guess that it had, and give out zeros
    /// behind a file that is shorter than that, or end one that is longer. There is nothing to lose: it will ask.
    func isUnasked(_ number: NodeNumber) -> Bool { state.withLock { $0.unasked.contains(number) } }

    /// The kernel is about to be answered. To be called before the answer is gathered, so that no change falls between.
    ///
    /// - Returns: whether changes have been kept from it.
    @discardableResult
    func asked(_ number: NodeNumber) -> Bool { state.withLock { $0.unasked.remove(number) != nil } }

    /// Remembers that an episode's attributes have changed.
    func note(changeOf episode: EpisodeID) {
        state.withLock { state in
            state.lastChange += 1
            if state.changes.count >= Self.mostRemembered {
                state.forgottenChange = state.lastChange - 1
                state.changes = [:]
            }
            state.changes[episode] = state.lastChange
        }
    }

    /// Something that is no episode has changed.
    func noteChange() { state.withLock { $0.lastChange += 1 } }

    /// The number of the last change of all.
    var lastChange: UInt64 { state.withLock { $0.lastChange } }

    func hasChanged(_ episode: EpisodeID, since change: UInt64) -> Bool {
        state.withLock { $0.changes[episode, default: $0.forgottenChange] > change }
    }

    /// Whether the kernel may be told of every episode what was gathered when that was the last change.
    func isQuiet(since change: UInt64) -> Bool {
        state.withLock { $0.lastChange <= change && $0.unasked.isEmpty }
    }

    /// Whether the daemon is to be told of an open: it keeps the second of the last one, so once for each.
    func isNews(openOf episode: EpisodeID, now: Int64) -> Bool {
        state.withLock { state in
            if state.told.count >= Self.mostRemembered { state.told = state.told.filter { $0.value == now } }
            return state.told.updateValue(now, forKey: episode) != now
        }
    }

    /// When an episode was last opened or closed in this mount.
    func accessed(_ episode: EpisodeID) -> Int64? { state.withLock { $0.accessed[episode] } }

    /// How often the times of access have changed.
    var accesses: UInt64 { state.withLock { $0.accesses } }

    // MARK: Folders

    func add(_ folder: FolderSnapshot) -> FileHandle {
        state.withLock { state in
            state.last += 1
            state.folders[state.last] = OpenFolder(names: folder)
            return FileHandle(rawValue: state.last)
        }
    }

    /// Somebody asks for the names.
    func folder(_ handle: FileHandle) -> OpenFolder? {
        state.withLock { state -> OpenFolder? in
            guard let folder = state.folders[handle.rawValue] else { return nil }
            state.folders[handle.rawValue]?.isNew = false
            return folder
        }
    }

    func setEnd(_ end: UInt64, of handle: FileHandle) {
        state.withLock { $0.folders[handle.rawValue]?.names.end = end }
    }

    func replace(_ handle: FileHandle, with folder: OpenFolder) {
        state.withLock { state in
            guard state.folders[handle.rawValue] != nil else { return }
            state.folders[handle.rawValue] = folder
            state.folders[handle.rawValue]?.isNew = false
        }
    }

    func removeFolder(_ handle: FileHandle) { state.withLock { _ = $0.folders.removeValue(forKey: handle.rawValue) } }
}
