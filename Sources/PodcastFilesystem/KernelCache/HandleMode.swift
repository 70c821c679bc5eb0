internal import Fuse

/// The I/O mode of a node's open handles, the same for all of them.
///
/// If an open does not match the mode of earlier ones, the kernel fails it with EIO even after a successful reply
/// (fs/fuse/iomode.c). So the first handle determines the mode until none is open. A handle is regarded as open from
/// before the reply to its open until its release, or until the kernel rejects the reply. After the last release
/// another mode is allowed, since the kernel resets a node's mode before it sends that release.
///
/// Pure: the caller acts on the results.
struct HandleMode: Sendable, Equatable {
    /// The number of open handles, all in the same I/O mode.
    private var handles = 0
    private var mode = IOMode.cached

    var isOpen: Bool { handles > 0 }

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
    /// - Parameter register: Registers a backing file for passthrough. Called for the first handle only.
    /// - Returns: The handle's mode.
    mutating func open(_ preference: Preference, register: () -> BackingID?) -> IOMode {
        if handles == 0 {
            switch preference {
            case .cached: mode = .cached
            case .direct: mode = .direct
            case .passthrough: mode = register().map { .passthrough(backing: $0) } ?? .cached
            }
        }
        handles += 1
        return mode
    }

    /// Removes a handle that was closed, or whose open reply was rejected.
    mutating func close() {
        precondition(handles > 0, "closed more often than opened")
        handles -= 1
    }

    /// Whether handles are open that bypass the page cache.
    var isDirect: Bool { handles > 0 && mode == .direct }
}
