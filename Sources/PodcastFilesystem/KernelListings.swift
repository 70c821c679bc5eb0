internal import Fuse
internal import Glibc
internal import Platform
internal import Synchronization

/// What the kernel keeps of the listings of all folders; see `KernelListing`.
final class KernelListings: Sendable {
    private struct Folder {
        var listing = KernelListing()
        /// What the kernel may give out to the streams that are open, whichever of them had it, the latest last.
        var names: [FolderSnapshot] = []

        /// A stream that fills the cache has these names.
        mutating func add(_ snapshot: FolderSnapshot) {
            guard !names.contains(where: { $0.base == snapshot.base }) else { return }
            names.append(snapshot)
            if names.count > KernelListings.most { names.removeFirst() }
        }
    }

    /// How many listings of a folder are remembered. It takes a change each, and programs that keep the folder open and read it
    /// again all the time.
    private static let most = 8

    private struct State {
        /// By the folder's node. Goes when the kernel forgets the node: then it has kept nothing.
        var folders: [NodeID: Folder] = [:]
        /// How often the kernel has forgotten a node's attributes in all: with the node, or because it was told to.
        var forgotten: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How a stream is to be opened, before that is answered.
    ///
    /// - Parameter lastChange: the number of the last change now. A stream whose names may be older has nothing to do with the
    ///   kernel's cache: `change` would come too early for it.
    func open(
        _ folder: NodeID, _ handle: FileHandle, _ names: FolderSnapshot, lastChange: () -> UInt64
    ) -> KernelListing.Answer {
        guard names.isKept else { return KernelListing.Answer(way: .passes) }
        return state.withLock { state in
            guard names.change == lastChange() else { return KernelListing.Answer(way: .passes) }
            let opening = KernelListing.Opening(
                listing: names.base, count: names.items.count + 2, now: SystemClock.monotonic.seconds,
                forgotten: state.forgotten)
            let answer = state.folders[folder, default: Folder()].listing.open(handle.rawValue, opening)
            if answer.way.caches {
                var names = names
                names.end = answer.end
                if answer.way == .begins { state.folders[folder]?.names = [] }
                state.folders[folder]?.add(names)
            }
            return answer
        }
    }

    func abandon(_ folder: NodeID, _ handle: FileHandle) {
        state.withLock { $0.folders[folder]?.listing.abandon(handle.rawValue) }
    }

    /// The stream asks for names.
    ///
    /// - Returns: whether it is to have those of now if it asks from the beginning.
    func asked(_ folder: NodeID, _ handle: FileHandle) -> Bool {
        state.withLock { $0.folders[folder]?.listing.asked(handle.rawValue) ?? false }
    }

    /// The stream is being answered names, the last of which is followed by this offset.
    func answered(_ folder: NodeID, _ handle: FileHandle, to offset: UInt64) {
        state.withLock { $0.folders[folder]?.listing.answered(handle.rawValue, to: offset) }
    }

    /// - Returns: whether the kernel is to drop what it has of the folder, after the end is answered.
    func ended(_ folder: NodeID, _ handle: FileHandle) -> Bool {
        state.withLock { $0.folders[folder]?.listing.ended(handle.rawValue) ?? false }
    }

    /// The stream begins anew with these names.
    func rewind(_ folder: NodeID, _ handle: FileHandle, to names: FolderSnapshot) {
        state.withLock { state in
            guard let isAlone = state.folders[folder]?.listing.rewind(handle.rawValue, to: names.base) else { return }
            if isAlone { state.folders[folder]?.names = [] }
            if state.folders[folder]?.listing.has(handle.rawValue) ?? false { state.folders[folder]?.add(names) }
        }
    }

    /// The names that an offset is of, which a stream was given by the kernel and did not have itself.
    func names(of folder: NodeID, at offset: UInt64) -> FolderSnapshot? {
        state.withLock { $0.folders[folder]?.names.last { $0.position(of: offset) != nil } }
    }

    func close(_ folder: NodeID, _ handle: FileHandle) {
        state.withLock { state in
            state.folders[folder]?.listing.close(handle.rawValue)
            if state.folders[folder]?.listing.isIdle ?? false { state.folders[folder]?.names = [] }
        }
    }

    /// Names may have changed, in any folder.
    ///
    /// - Returns: the folders of which the kernel is to drop what it has.
    func change() -> [NodeID] {
        state.withLock { state in state.folders.keys.filter { state.folders[$0]?.listing.change() ?? false } }
    }

    /// The kernel has forgotten a node.
    func forget(_ node: NodeID) {
        state.withLock { state in
            state.forgotten += 1
            if state.folders[node]?.listing.isIdle ?? false { state.folders[node] = nil }
        }
    }

    /// The kernel has been told that a node's attributes have changed.
    func forgetAttributes() { state.withLock { $0.forgotten += 1 } }
}
