import Foundation
internal import Platform
import PodcastLibrary
import PodcastProtocol
import PodcastService
import Transfers

/// The installation of podfs that a command works on: its paths, configuration, library and daemon. The paths come from
/// this process's environment.
struct Installation: Sendable {
    let paths: InstallationPaths

    init() throws {
        guard let paths = InstallationPaths(environment: ProcessInfo.processInfo.environment) else {
            throw CommandError(
                .failed, "neither HOME nor the XDG variables are set: podfs cannot find its folders; set HOME")
        }
        self.paths = paths
    }

    var launcher: DaemonLauncher {
        DaemonLauncher(paths: paths, schema: Library.schemaVersion) { Terminal.error($0) }
    }

    /// Reads the configuration file; errors contain the line number.
    func configuration() throws -> Configuration { try Configuration.load(paths) }

    /// Whether the configuration file has changed since the running daemon has read it.
    var isDaemonOutdated: Bool {
        func modified(_ path: String) -> Date? {
            (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        }
        guard let changed = modified(paths.configFile), let started = modified(paths.pidFile) else { return false }
        return changed > started
    }

    /// Opens the library for reading; `nil` if it does not exist and has no backup, and the copy of the subscriptions
    /// lists no show. If the library is damaged, or if it does not exist but can be restored, starts the daemon,
    /// which first repairs or restores it.
    func library() throws -> Library? {
        do {
            return try Library.openForReading(at: paths.library)
        } catch LibraryError.missing where !canBeRestored {
            return nil
        } catch LibraryError.missing, LibraryError.damaged {
            return try libraryOfDaemon()
        }
    }

    /// Starts the daemon, which creates, restores or repairs the library, then opens the library for reading.
    func libraryOfDaemon() throws -> Library {
        try launcher.connectOrStart(role: .command).close()
        return try Library.openForReading(at: paths.library)
    }

    /// Whether the daemon can restore a missing library, from its backup or the copy of the subscriptions, or has to
    /// report that this copy cannot be read.
    private var canBeRestored: Bool {
        access(paths.libraryBackup, F_OK) == 0
            || (try? SubscriptionsCopy.read(paths.subscriptionsCopy))?.isEmpty != true
    }

    /// Opens the library for a command whose arguments are shows or episodes; throws if there is no library.
    func existingLibrary() throws -> Library {
        guard let library = try library() else {
            throw CommandError(.failed, "there are no subscriptions yet: podfs subscribe URL")
        }
        return library
    }

    /// Connects to the daemon, starting one if none runs. Reads the configuration first, so that the command reports an
    /// error in it, because a daemon does not start with an invalid configuration.
    ///
    /// - Parameters:
    ///   - onEvent: Called with each event after `Command.watch` was sent.
    ///   - onClose: Called once, when the connection is closed.
    func daemon(
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }, onClose: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection {
        _ = try configuration()
        return try launcher.connectOrStart(role: .command, onEvent: onEvent, onClose: onClose)
    }

    /// Sends one command on a connection of its own, and returns a part of the reply.
    func perform<Value>(_ command: Command, _ part: (Reply) -> Value?) async throws -> Value {
        let daemon = try daemon()
        defer { daemon.close() }
        return try await daemon.perform(command, part)
    }

    /// Connects to the daemon; `nil` if none runs.
    func runningDaemon() throws -> DaemonConnection? { try launcher.connect(role: .command) }

    /// Connects to the daemon, whose events change a progress line.
    func daemon(
        showing line: ProgressLine, onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> DaemonConnection {
        let daemon = try daemon(onEvent: onEvent)
        if line.isShown { _ = try await daemon.perform(.watch) }
        return daemon
    }

    /// Returns the daemon's configuration: the settings of the file, the conditions of this machine, and the callback
    /// for this process's heap trimmer. If `transfers.ca_file` is set, writes the CA bundle in use and the certificates
    /// of that file to `InstallationPaths.authorities`.
    func serviceConfiguration() throws -> ServiceConfiguration {
        let configuration = try configuration()
        var service = configuration.service
        if let file = configuration.authorities {
            try launcher.makeFolders()
            service.transfers.network.authorities = try Authorities.inUse.adding(file, writing: paths.authorities)
        }
        service.conditions = { .current() }
        let trimmer = HeapTrimmer()
        service.onWork = { trimmer.recordWork() }
        return service
    }

    /// The maximum number of consecutive daemons that end without an event.
    private static let maximumFailures = 6

    /// Connects to the daemon and subscribes to its events, calls `begin`, and then `next` with each event, until one
    /// of them returns a value. If the daemon exits or is killed, does the same with the next one, after a pause that
    /// doubles with each daemon that has sent no event.
    func follow<Value>(
        begin: (DaemonConnection) async throws -> Value?,
        next: (Event, DaemonConnection) async throws -> Value? = { _, _ in nil }
    ) async throws -> Value {
        var failures = 0
        while true {
            let (events, inbox) = AsyncStream<Event>.makeStream()
            let daemon = try daemon(onEvent: { inbox.yield($0) }, onClose: { inbox.finish() })
            defer { daemon.close() }
            do {
                // Subscribe to events first, so that none is missed.
                _ = try await daemon.perform(.watch)
                if let value = try await begin(daemon) { return value }
                for await event in events {
                    failures = 0
                    if let value = try await next(event, daemon) { return value }
                }
                throw ClientError.disconnected
            } catch let error as ClientError where error.code == .disconnected {
                guard failures < Self.maximumFailures else { throw error }
                await Timers.sleep(for: .milliseconds(100 << failures))
                try Task.checkCancellation()
                failures += 1
            }
        }
    }
}
