internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import TransferCore

/// The names in the folders of the show that was listed last, for as long as nothing has changed: a listing of ten thousand
/// episodes is 25 ms of reading rows, and programs list a folder more than once.
final class LastListing: Sendable {
    /// All that a listing goes by, looked at before the listing is made.
    ///
    /// Equal ones have equal names, in the same order.
    struct Basis: Equatable, Sendable {
        /// The show's, or one in it; their rows are the show's.
        var folder: NodeNumber
        /// `Library.changeCounter()`.
        var library: Int64
        /// The number of the last change that the daemon has told of.
        var change: UInt64
        /// How often files were opened and closed at another second: their times of access.
        var accesses: UInt64
        /// When a file of the feeds' folder has come or gone.
        var feeds: Moment?
        /// The same of the assets' folder.
        var assets: Moment?

        struct Moment: Equatable, Sendable {
            var seconds: Int
            var nanoseconds: Int

            /// The last change of a folder's names; `nil` when there is none.
            init?(of folder: FilePath) {
                var status = stat()
                guard stat(folder.string, &status) == 0 else { return nil }
                (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
            }
        }
    }

    private struct State {
        /// The row of the show.
        var show: ShowID?
        var folders: [NodeNumber: (basis: Basis, names: FolderSnapshot)] = [:]
        /// What each folder was last listed by, and the offset below its names'. Kept when the names are not.
        var bases: [NodeNumber: (basis: Basis, offset: UInt64)] = [:]
        /// The first offset that no listing has had.
        var nextOffset: UInt64 = 1
    }

    /// Offsets have 31 bits, for programs whose `off_t` has 32; then they begin again. By then a folder of ten thousand was
    /// listed after 200,000 changes.
    private static let offsets: UInt64 = 1 << 31

    private let state = Mutex(State())

    func names(_ basis: Basis) -> FolderSnapshot? {
        state.withLock { state in state.folders[basis.folder].flatMap { $0.basis == basis ? $0.names : nil } }
    }

    /// Gives names a stretch of offsets, which they have in common with those of an equal basis alone, and keeps them.
    ///
    /// - Parameter isCertain: the basis was the same after the names were read. Else others of the same basis may differ.
    func keep(_ names: FolderSnapshot, _ basis: Basis, isCertain: Bool) -> FolderSnapshot {
        var names = names
        names.isKept = !names.fillsPages
        return state.withLock { state in
            if isCertain, let known = state.bases[basis.folder], known.basis == basis {
                names.base = known.offset
            } else {
                // One for each name, and for `.` and `..`; the base is none of them.
                let count = UInt64(names.items.count) + 3
                if state.nextOffset + count > Self.offsets { state.nextOffset = 1 }
                names.base = state.nextOffset
                state.nextOffset += count
                if isCertain { state.bases[basis.folder] = (basis, names.base) }
            }
            if state.show != basis.folder.show { state.folders = [:] }
            state.show = basis.folder.show
            state.folders[basis.folder] = (basis, names)
            return names
        }
    }
}
