internal import Fuse

/// The I/O mode of a node's open handles, the same for all of them.
///
/// If an open does not match the mode of earlier ones, the kernel fails it with EIO even after a successful reply
/// (fs/fuse/iomode.c). So the first handle determines the mode until none is open. A handle is regarded as open from
/// before the reply to its open until its release, or until the kernel rejects the reply. After the last release
/// another mode is allowed, since the kernel resets a node's mode before it sends that release.
///
/// Pure: the caller acts on the results.
enum HandleMode: Sendable, Equatable {
    /// No handle is open. The functions `open(_:)` and `opened(with:)` set the case `open(_:handles:)`.
    case closed
    /// Handles are open, all in the same I/O mode. `close()` of the last handle sets the case `closed`.
    case open(IOMode, handles: Int)

    /// The preferred mode of a handle to be opened.
    enum Preference: Sendable {
        case cached
        case direct
        /// Passthrough if the kernel accepts the file, otherwise `cached`.
        case passthrough
    }

    /// The mode in which a handle is opened.
    enum IOMode: Sendable, Equatable {
        /// Reads go through the page cache.
        case cached
        /// Reads bypass the page cache.
        case direct
        /// The kernel reads the backing file itself.
        case passthrough(backing: BackingID)
    }

    /// Counts a handle.
    ///
    /// - Returns: The mode; `nil` if a backing file has to be registered first. The handle is then not counted yet, and
    ///   `opened(with:)` must be the next call.
    mutating func open(_ preference: Preference) -> IOMode? {
        switch (self, preference) {
        case (.open(let mode, let handles), _): return count(handles + 1, mode)
        case (.closed, .cached): return count(1, .cached)
        case (.closed, .direct): return count(1, .direct)
        case (.closed, .passthrough): return nil
        }
    }

    /// Counts the handle for which `open` returned `nil`. If `backing` is `nil`, its mode is `cached`.
    mutating func opened(with backing: BackingID?) -> IOMode {
        guard case .closed = self else { preconditionFailure("no open is waiting for a backing file") }
        return count(1, backing.map { .passthrough(backing: $0) } ?? .cached)
    }

    private mutating func count(_ handles: Int, _ mode: IOMode) -> IOMode {
        self = .open(mode, handles: handles)
        return mode
    }

    /// Removes a handle that was closed, or whose open reply was rejected.
    mutating func close() {
        guard case .open(let mode, let handles) = self else { preconditionFailure("closed more often than opened") }
        self = handles > 1 ? .open(mode, handles: handles - 1) : .closed
    }
}
