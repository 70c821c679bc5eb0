/// How the open handles of a node come to their bytes: all of them in the same way.
///
/// The kernel fails an open that does not fit those before it (fs/fuse/iomode.c), with an EIO for the program although
/// the open was answered. So the first handle decides, and all others follow until none is open. A handle counts from
/// before its open is answered until its release, or until the answer is not taken: the kernel has forgotten the mode of
/// a node before it tells of the last release.
///
/// Pure: who holds the value performs what it asks for.
enum HandleMode<Backing> {
    /// No handle is open. `open` leads to `cached` or `direct`, `opened(with:)` to `passthrough` or `cached`.
    case closed
    /// Reads go through the page cache. To `closed` with the last handle.
    case cached(handles: Int)
    /// Reads bypass the page cache. To `closed` with the last handle.
    case direct(handles: Int)
    /// The kernel reads the backing file by itself. To `closed` with the last handle.
    case passthrough(Backing, handles: Int)

    /// What would suit a handle that is to be opened.
    enum Wish {
        case cached
        case direct
        /// Passthrough if the kernel takes the file, else `cached`.
        case passthrough
    }

    /// How a handle is opened.
    enum Way {
        case cached
        case direct
        case passthrough(Backing)
    }

    enum Opening {
        /// The handle counts, and is to be opened so.
        case opened(Way)
        /// The handle does not count yet: a backing file is to be made, and `opened(with:)` to be called before anything
        /// else.
        case needsBacking
    }

    mutating func open(_ wish: Wish) -> Opening {
        switch (self, wish) {
        case (.closed, .cached): self = .cached(handles: 1)
        case (.closed, .direct): self = .direct(handles: 1)
        case (.closed, .passthrough): return .needsBacking
        case (.cached(let count), _): self = .cached(handles: count + 1)
        case (.direct(let count), _): self = .direct(handles: count + 1)
        case (.passthrough(let backing, let count), _): self = .passthrough(backing, handles: count + 1)
        }
        return .opened(way)
    }

    /// Goes on after `needsBacking`; without a backing file in the other way.
    mutating func opened(with backing: Backing?) -> Way {
        guard case .closed = self else { preconditionFailure("a backing file that no open waits for") }
        self = backing.map { .passthrough($0, handles: 1) } ?? .cached(handles: 1)
        return way
    }

    /// A handle is closed, or its open was not taken. With the last one the backing file goes.
    mutating func close() {
        switch self {
        case .closed: preconditionFailure("closed more often than opened")
        case .cached(let count): self = count > 1 ? .cached(handles: count - 1) : .closed
        case .direct(let count): self = count > 1 ? .direct(handles: count - 1) : .closed
        case .passthrough(let backing, let count):
            self = count > 1 ? .passthrough(backing, handles: count - 1) : .closed
        }
    }

    var handles: Int {
        switch self {
        case .closed: 0
        case .cached(let count), .direct(let count), .passthrough(_, let count): count
        }
    }

    private var way: Way {
        switch self {
        case .closed, .cached: .cached
        case .direct: .direct
        case .passthrough(let backing, _): .passthrough(backing)
        }
    }
}

extension HandleMode: Sendable where Backing: Sendable {}
extension HandleMode.Way: Sendable where Backing: Sendable {}
