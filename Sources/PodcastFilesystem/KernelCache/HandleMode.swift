internal import Fuse

/// The way in which the open handles of a node come to their bytes: all of them in the same one.
///
/// The kernel fails an open that does not fit those before it (fs/fuse/iomode.c), with an EIO for the program although
/// the open was answered. So the first handle decides, and all others follow until none is open. A handle counts from
/// before its open is answered until its release, or until the answer is not taken: the kernel has forgotten the mode
/// of a node before it tells of the last release.
///
/// Pure: who holds the value performs what it asks for.
enum HandleMode: Sendable, Equatable {
    /// No handle is open. `open` and `opened(with:)` lead to `open`.
    case closed
    /// So many handles are open, all in the same way. To `closed` with the last one.
    case open(Way, handles: Int)

    /// The way that would suit a handle that is to be opened.
    enum Wish: Sendable {
        case cached
        case direct
        /// Passthrough if the kernel accepts the file, otherwise `cached`.
        case passthrough
    }

    /// The way in which a handle is opened.
    enum Way: Sendable, Equatable {
        /// Reads go through the page cache.
        case cached
        /// Reads bypass the page cache.
        case direct
        /// The kernel reads the backing file by itself.
        case passthrough(backing: BackingID)
    }

    /// Counts a handle.
    ///
    /// - Returns: how it is opened; `nil` when it does not count yet: a backing file is to be made, and `opened(with:)`
    ///   to be
    ///   called before anything else.
    mutating func open(_ wish: Wish) -> Way? {
        switch (self, wish) {
        case (.open(let way, let handles), _): return count(handles + 1, way)
        case (.closed, .cached): return count(1, .cached)
        case (.closed, .direct): return count(1, .direct)
        case (.closed, .passthrough): return nil
        }
    }

    /// Counts a handle after `open` returned `nil`; without a backing file it is cached.
    mutating func opened(with backing: BackingID?) -> Way {
        guard case .closed = self else { preconditionFailure("a backing file that no open waits for") }
        return count(1, backing.map { .passthrough(backing: $0) } ?? .cached)
    }

    private mutating func count(_ handles: Int, _ way: Way) -> Way {
        self = .open(way, handles: handles)
        return way
    }

    /// A handle is closed, or its open was not taken.
    mutating func close() {
        guard case .open(let way, let handles) = self else { preconditionFailure("closed more often than opened") }
        self = handles > 1 ? .open(way, handles: handles - 1) : .closed
    }
}
