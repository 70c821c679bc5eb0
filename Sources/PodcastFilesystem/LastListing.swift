internal import Glibc
internal import Synchronization
internal import SystemPackage

/// The names in the folders of the show that was listed last, for as long as nothing has changed: a listing of ten thousand
/// episodes is 25 ms of reading rows, those of its notes and chapters are 10 ms each, and programs list a folder more than
/// once.
final class LastListing: Sendable {
    /// All that a listing goes by, looked at before the listing is made.
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
        var show: Int64?
        var folders: [NodeNumber: (basis: Basis, names: FolderSnapshot)] = [:]
    }

    private let state = Mutex(State())

    func names(_ basis: Basis) -> FolderSnapshot? {
        state.withLock { state in state.folders[basis.folder].flatMap { $0.basis == basis ? $0.names : nil } }
    }

    func keep(_ names: FolderSnapshot, _ basis: Basis) {
        state.withLock { state in
            if state.show != basis.folder.row { state.folders = [:] }
            state.show = basis.folder.row
            state.folders[basis.folder] = (basis, names)
        }
    }
}
