internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform
package import PodcastProtocol
internal import Synchronization
internal import Transfers

/// A watch of the players on the session bus while an episode is open, on a thread of its own. Thread-safe.
///
/// The thread starts with the first open. After the last close, it continues for `Options.linger` if it is connected to
/// the bus, and ends at once if it is not. It closes the connection before it ends. It waits in poll(2) for the bus,
/// for inputs from other threads, and for the deadline of its `PlayerTracker`.
package final class PlayerWatch: Sendable {
    /// The parts of the mount that the watch uses.
    package struct Mount: Sendable {
        /// Returns the episode at a path below the mount point, given by its components; `nil` if there is none.
        package var episode: @Sendable ([String]) -> EpisodeID?
        /// Sends a report to the daemon. Calls the callback, on any thread, with the position in seconds to which the
        /// player should seek, or with `nil`.
        package var report: @Sendable (ListeningReport, @escaping @Sendable (Double?) -> Void) -> Void
    }

    /// The settings of a watch.
    package struct Options: Sendable {
        /// The absolute path of the mounted folder, without links.
        package var folder: String
        /// Returns the address of the bus; `nil` if there is none now.
        package var address: @Sendable () -> String?
        /// The time for which the connection stays open after the last close, because a player sends its last signals
        /// after it has closed the file.
        package var linger: Duration = .seconds(10)
        /// Whether players are asked to seek to the stored position.
        package var resumes: Bool

        package init(folder: String, address: @escaping @Sendable () -> String?, resumes: Bool = true) {
            self.folder = folder
            self.address = address
            self.resumes = resumes
        }
    }

    private struct State {
        /// The number of current opens of each open episode. An episode that is not open has no entry.
        var open: [EpisodeID: Int] = [:]
        var isRunning = false
        var isEnded = false
        /// Inputs for the tracker from other threads.
        var inbox: [PlayerTracker.Input] = []
    }

    /// The delay before connecting, so that a program that opens a file only for a moment causes no connection.
    private static let connectDelay: Duration = .milliseconds(200)
    /// The interval between attempts to connect.
    private static let retryInterval: Duration = .seconds(30)

    private let options: Options
    private let mount: Mount
    private let state = Mutex(State())
    /// The signal that wakes the thread; `nil` if eventfd(2) has failed. The watch then does nothing.
    private let wake: WakeSignal?

    package init(_ options: Options, mount: Mount) {
        self.options = options
        self.mount = mount
        wake = WakeSignal()
    }

    /// Records an open of an episode. Returns at once.
    package func opened(_ episode: EpisodeID) {
        guard let wake else { return }
        let starts = state.withLock { state in
            if state.isEnded { return false }
            state.open[episode, default: 0] += 1
            state.inbox.append(.opened(episode))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { startThread("podfs-players") { [self] in run(wake) } } else { wake.send() }
    }

    /// Records a close of an episode. Returns at once.
    package func closed(_ episode: EpisodeID) {
        let isLast = state.withLock { state in
            guard let count = state.open[episode] else { return false }
            state.open[episode] = count > 1 ? count - 1 : nil
            return state.open.isEmpty
        }
        // The thread ends after `linger` if it is connected, otherwise at once. If an episode is opened before that,
        // the thread continues.
        if isLast { wake?.send() }
    }

    /// Whether the thread runs, with or without a connection.
    package var isRunning: Bool { state.withLock { $0.isRunning } }

    /// Ends the thread, which first reports the players' last positions. Returns at once. Later opens have no effect.
    package func stop() {
        state.withLock { $0.isEnded = true }
        wake?.send()
    }

    private func post(_ input: PlayerTracker.Input) {
        state.withLock { $0.inbox.append(input) }
        wake?.send()
    }

    // MARK: The thread

    private static var now: Instant { Instant(uptime: .microseconds(SystemClock.monotonic.microseconds)) }

    private func run(_ wake: WakeSignal) {
        while true {
            wake.wait(for: Self.connectDelay, while: { hasOpenEpisode })
            let isDone = state.withLock { state in
                guard state.open.isEmpty || state.isEnded else { return false }
                (state.isRunning, state.inbox) = (false, [])
                return true
            }
            if isDone { return }
            guard let address = options.address() else {
                wake.wait(for: Self.retryInterval, while: { hasOpenEpisode })
                continue
            }
            follow(address, wake)
            if hasOpenEpisode { wake.wait(for: Self.retryInterval, while: { hasOpenEpisode }) }
        }
    }

    private var hasOpenEpisode: Bool { state.withLock { !$0.open.isEmpty && !$0.isEnded } }

    /// Follows the players on a bus until the connection is lost, `linger` has passed since the last close, or `stop`
    /// is called. Returns at once if there is no bus at the address.
    private func follow(_ address: String, _ wake: WakeSignal) {
        // A new tracker knows of no open episode: add those that are open now.
        var inputs: [PlayerTracker.Input] = state.withLock { $0.open.keys.map { .opened($0) } }
        guard let bus = PlayerBus(address: address, receive: { inputs.append($0) }) else { return }
        var tracker = PlayerTracker()
        var closedSince: Instant?
        var isConnected = true
        var hasMore = false
        while isConnected {
            if !hasMore { wait(bus, tracker.deadline, closedSince.map { $0 + options.linger }, wake) }
            switch bus.process() {
            case .some(let more): hasMore = more
            case nil: isConnected = false
            }
            let now = Self.now
            inputs += state.withLock { exchange(&$0.inbox, with: []) }
            if let deadline = tracker.deadline, deadline <= now { inputs.append(.tick) }
            closedSince = hasOpenEpisode ? nil : closedSince ?? now
            if let closedSince, now - closedSince >= options.linger || state.withLock({ $0.isEnded }) {
                isConnected = false
            }
            for input in exchange(&inputs, with: []) { perform(tracker.handle(input, at: now), on: bus) }
        }
        perform(tracker.handle(.disconnected, at: Self.now), on: bus)
    }

    /// Waits for the bus, a signal from another thread, or the earliest deadline: the bus's, `first` or `second`.
    /// Clears the signal.
    private func wait(_ bus: PlayerBus, _ first: Instant?, _ second: Instant?, _ wake: WakeSignal) {
        let busDeadline = bus.deadline.map { Instant(uptime: .microseconds(Int64(clamping: $0))) }
        let next = [first, second, busDeadline].compactMap(\.self).min()
        var descriptors = [
            pollfd(fd: bus.descriptor, events: bus.events, revents: 0),
            pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = next.map { max(0, ($0 - Self.now) / .milliseconds(1)) + 1 } ?? -1
        _ = poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: Int64(timeout)))
        wake.clear()
    }

    private func perform(_ effects: [PlayerTracker.Effect], on bus: PlayerBus) {
        for effect in effects {
            switch effect {
            case .read(let id): bus.read(id)
            case .readPosition(let id): bus.readPosition(id)
            case .seek(let id, let track, let target, let position):
                bus.seek(id, track: track, to: target, from: position)
            case .locate(let id, let url, let process): locate(id, url, process)
            case .report(let id, let session, let report):
                mount.report(report) { [weak self] resume in
                    guard let self, let resume, options.resumes else { return }
                    post(.answered(id, session: session, resume: resume))
                }
            }
        }
    }

    // MARK: Paths

    /// Looks up the episode of a URL and posts `located`. Posts nothing if the URL is not that of a file.
    private func locate(_ id: PlayerID, _ url: String, _ process: Int32?) {
        guard let path = FileURL.path(url) else { return }
        let names = FileURL.components(path, below: options.folder) ?? process.flatMap { openFile(of: $0, at: path) }
        post(.located(id, url: url, names.flatMap(mount.episode)))
    }

    /// Returns the components below the mounted folder of the file that a process has open by a path outside it,
    /// through a symbolic link; `nil` if there is none. The link's name must begin with the file's name minus the
    /// extension, because a process may have several files open. Only /proc is read, so no disk or server is asked.
    private func openFile(of process: Int32, at path: String) -> [String]? {
        guard let link = FileURL.components(path).last else { return nil }
        let folder = "/proc/\(process)/fd"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return descriptors.lazy.compactMap { descriptor -> [String]? in
            guard let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(descriptor)"),
                let names = FileURL.components(file, below: self.options.folder), let name = names.last
            else { return nil }
            let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
            return link.utf8.starts(with: stem.utf8) ? names : nil
        }
        .first
    }
}

/// An eventfd(2) that wakes a waiting thread.
private final class WakeSignal: Sendable {
    let descriptor: Int32

    init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func send() { eventfd_write(descriptor, 1) }

    func clear() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }

    /// Waits until `condition` is false or the time has passed. Evaluates the condition after each signal.
    func wait(for time: Duration, while condition: () -> Bool) {
        let end = SystemClock.monotonic.now + time
        while condition() {
            let rest = end - SystemClock.monotonic.now
            if rest <= .zero { return }
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&waiting, 1, Int32(clamping: rest.milliseconds))
            clear()
        }
    }
}

/// The address of the user's session bus.
package enum SessionBus {
    /// Returns the address in `DBUS_SESSION_BUS_ADDRESS`, or if that is not set, the address of the socket `bus` in
    /// `XDG_RUNTIME_DIR`. Returns `nil` if there is neither, or if a connection to an address in the variable would
    /// start a process. Never starts a bus.
    package static func address(_ environment: [String: String]) -> String? {
        if let given = environment["DBUS_SESSION_BUS_ADDRESS"], !given.isEmpty {
            // These transports start a process. The variable may list several addresses.
            let startsProcess = given.split(separator: ";").contains {
                $0.hasPrefix("autolaunch:") || $0.hasPrefix("unixexec:")
            }
            return startsProcess ? nil : given
        }
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.utf8.first == UInt8(ascii: "/") else { return nil }
        let socket = folder + "/bus"
        var status = stat()
        guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return "unix:path=" + socket.percentEncoded
    }
}

/// A `file:` URL of this machine, as players announce it. Texts are divided at bytes: a slash before a combining
/// character is a slash.
package enum FileURL {
    /// The maximum length in bytes: a path of PATH_MAX with every byte percent-encoded, plus the text before it.
    package static let longest = 3 * 4_096 + 32

    /// Returns the absolute path; `nil` for any other URL, for one that is longer than `longest`, and for a path with
    /// an invalid escape, with bytes other than UTF-8, or with a NUL.
    package static func path(_ url: String) -> String? {
        guard url.utf8.count <= longest, url.prefix(5).lowercased() == "file:" else { return nil }
        // A query or a fragment is not part of the path. In a file name, `?` and `#` are percent-encoded.
        var rest = url.utf8.dropFirst(5).prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != UInt8(ascii: "/") }
            guard host.isEmpty || host.elementsEqual("localhost".utf8) else { return nil }
            rest = rest.dropFirst(host.count)
        }
        guard rest.first == UInt8(ascii: "/"), let path = String(Substring(rest)).removingPercentEncoding,
            !path.utf8.contains(0)
        else { return nil }
        return path
    }

    /// Returns the components of a path, except for empty components and `.`.
    package static func components(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
    }

    /// Returns the components below a folder; `nil` if the path is not below it. Compares text, without a system call.
    package static func components(_ path: String, below folder: String) -> [String]? {
        let (all, parent) = (components(path), components(folder))
        guard all.count > parent.count, zip(all, parent).allSatisfy({ $0.utf8.elementsEqual($1.utf8) }) else {
            return nil
        }
        return Array(all.dropFirst(parent.count))
    }
}
