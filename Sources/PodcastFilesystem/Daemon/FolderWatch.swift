internal import Dispatch
internal import Glibc
internal import Platform
internal import Synchronization

/// A watch for files that are moved into a folder (inotify(7)). Only one thread may wait; any thread may call `stop`.
package final class FolderWatch: Sendable {
    private struct State {
        /// The inotify descriptor; -1 before the first wait, and if the user has no inotify instances left.
        var descriptor: Int32 = -1
        /// The watch descriptor; `nil` if the folder is not watched.
        var watch: Int32?
        var isEnded = false
    }

    private let folder: String
    private let pause: Duration
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter pause: The maximum duration of a wait if the folder cannot be watched: it does not exist, or the
    ///   user has no inotify instances or watches left (`max_user_instances`, `max_user_watches` in `fs.inotify`).
    package init(_ folder: String, pause: Duration = .seconds(60)) {
        self.folder = folder
        self.pause = pause
    }

    deinit {
        let descriptor = state.withLock { $0.descriptor }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Blocks until a file is moved into the folder, the folder is removed, or the watch is stopped; for at most
    /// `pause` if the folder cannot be watched.
    ///
    /// - Returns: `false` if the watch was stopped.
    package func wait() -> Bool {
        guard let descriptor = startIfNeeded() else {
            let milliseconds = Int(pause / .milliseconds(1))
            guard ended.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return true }
            // The next wait must also return immediately.
            ended.signal()
            return false
        }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = retryingInterrupts { read(descriptor, &buffer, buffer.count) }
        // IN_IGNORED reports that the watch was removed, either with its folder or by `stop`.
        let isGone = count < 0 || Self.masks(buffer.prefix(count)).contains { $0 & UInt32(IN_IGNORED) != 0 }
        return state.withLock { state in
            if isGone { state.watch = nil }
            return !state.isEnded
        }
    }

    /// Ends the current wait and all later ones.
    package func stop() {
        state.withLock { state in
            if state.isEnded { return }
            state.isEnded = true
            // The kernel reports the removal with IN_IGNORED, which wakes the reader.
            if let watch = state.watch { _ = inotify_rm_watch(state.descriptor, watch) }
        }
        ended.signal()
    }

    /// Creates the inotify descriptor and the watch, unless they exist.
    ///
    /// - Returns: The descriptor to read from; `nil` if the folder is not watched.
    private func startIfNeeded() -> Int32? {
        state.withLock { state in
            if state.isEnded { return nil }
            if state.descriptor < 0 { state.descriptor = inotify_init1(Int32(IN_CLOEXEC)) }
            if state.descriptor >= 0, state.watch == nil {
                let watch = inotify_add_watch(state.descriptor, folder, UInt32(IN_MOVED_TO))
                if watch >= 0 { state.watch = watch }
            }
            return state.watch == nil ? nil : state.descriptor
        }
    }

    /// Returns the masks of the events. Each event has a header of 16 bytes, with the mask at offset 4 and the length
    /// of the following name at offset 12.
    private static func masks(_ events: ArraySlice<UInt8>) -> [UInt32] {
        var masks: [UInt32] = []
        events.withUnsafeBytes { bytes in
            var position = 0
            while position + 16 <= bytes.count {
                masks.append(bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self))
                position += 16 + Int(bytes.loadUnaligned(fromByteOffset: position + 12, as: UInt32.self))
            }
        }
        return masks
    }
}
