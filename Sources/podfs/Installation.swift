import CLinux
import DaemonCore
import Foundation
import Glibc
import PodcastClient
import PodcastLibrary
import PodcastProtocol
import PodcastService
import TransferCore
import TransferEngine

/// What every command works on: the places of this environment, its configuration, its daemon.
struct Installation: Sendable {
    let places: Places

    init() throws {
        guard let places = Places(environment: ProcessInfo.processInfo.environment) else {
            throw CommandError(
                .failed, "neither HOME nor the XDG variables are set: podfs does not know where to keep things")
        }
        self.places = places
    }

    var launcher: DaemonLauncher {
        DaemonLauncher(places: places, schema: Library.schemaVersion) { Terminal.error($0) }
    }

    /// The configuration file; a mistake in it is told with its line.
    func configuration() throws -> Configuration { try Configuration.load(from: places.configFile) }

    /// The library for reading; `nil` when there is none yet: no show was ever subscribed to. One that is damaged, old or
    /// lost, although there is a list of what was subscribed to, is put right by the daemon first.
    func library() throws -> Library? {
        do {
            return try Library.openForReading(at: places.library)
        } catch LibraryError.missing where SubscriptionsCopy.read(places.subscriptionsCopy).isEmpty {
            return nil
        } catch LibraryError.missing, LibraryError.damaged, LibraryError.olderSchema {
            try launcher.connectOrStart(role: .command).end()
            return try Library.openForReading(at: places.library)
        }
    }

    /// Whether there is a library, whatever its state.
    var hasLibrary: Bool {
        var status = stat()
        return stat(places.library, &status) == 0 && status.st_size > 0
    }

    /// The library, which a command needs that names shows or episodes.
    func existingLibrary() throws -> Library {
        guard let library = try library() else {
            throw CommandError(.failed, "there are no subscriptions yet: podfs subscribe URL")
        }
        return library
    }

    /// The daemon, started when none runs. The configuration is read first: it is the daemon's too.
    ///
    /// - Parameter onEvent: called with what happens, once `Command.watch` has been sent.
    func daemon(
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }, onEnd: @escaping @Sendable () -> Void = {}
    ) throws -> DaemonConnection {
        _ = try configuration()
        return try launcher.connectOrStart(role: .command, onEvent: onEvent, onEnd: onEnd)
    }

    /// The daemon, if one runs.
    func runningDaemon() throws -> DaemonConnection? { try launcher.connect(role: .command) }

    /// What the daemon is to know.
    func serviceConfiguration() throws -> ServiceConfiguration {
        let configuration = try configuration()
        var transfers = TransferConfiguration(userAgent: configuration.userAgent ?? "podfs/\(Podfs.version)")
        transfers.limits.stall = configuration.transfers.stall.milliseconds
        transfers.limits.readerDeadline = configuration.transfers.readerDeadline.milliseconds
        transfers.limits.retry.giveUp = configuration.transfers.giveUp.milliseconds
        transfers.pools.filling = configuration.transfers.filling
        transfers.pools.fillingPerHost = configuration.transfers.fillingPerHost
        transfers.pools.readersPerHost = configuration.transfers.readersPerHost
        transfers.rateLimit = configuration.transfers.rateLimit ?? 0
        transfers.network.reach.exceptions = configuration.transfers.allowPrivate
        var service = ServiceConfiguration(places: places, version: Podfs.version, transfers: transfers)
        service.nameTemplate = configuration.names.template
        service.idleExit = configuration.daemon.idleExit.components.seconds
        service.onDownload = configuration.hooks.onDownload
        service.onNewEpisode = configuration.hooks.onNewEpisode
        service.onIdle = configuration.hooks.onIdle
        service.storage = StorageLimits(
            capacity: configuration.cache.limit, keepFree: configuration.cache.keepFree)
        service.conditions = .system()
        service.schedule = RefreshSchedule(
            minimum: configuration.refresh.min.components.seconds, maximum: configuration.refresh.max.components.seconds
        )
        service.sync = SyncSchedule(
            interval: configuration.sync.interval.components.seconds,
            delay: configuration.sync.delay.components.seconds)
        service.refreshConnections = configuration.refresh.connections
        service.keep = configuration.keep
        service.autoDownload = configuration.autoDownload
        service.allowsMetered = configuration.discretionary.allowMetered
        service.allowsBattery = configuration.discretionary.allowBattery
        service.catalogues = Self.catalogues(configuration.search)
        let trimmer = HeapTrimmer()
        service.onWork = { trimmer.noteWork() }
        return service
    }

    private static func catalogues(_ search: Configuration.Search) -> [any Catalogue] {
        var catalogues: [any Catalogue] = [ITunesCatalogue(url: search.iTunesURL)]
        if let index = search.podcastIndex {
            catalogues.append(
                PodcastIndexCatalogue(
                    key: index.key, secret: index.secret,
                    url: search.podcastIndexURL ?? PodcastIndexCatalogue.standardURL))
        }
        return catalogues
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
