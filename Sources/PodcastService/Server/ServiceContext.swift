internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The objects that all parts of the service share; fixed while the daemon runs.
final class ServiceContext: Sendable {
    let configuration: ServiceConfiguration
    let library: Library
    let engine: TransferEngine
    let fetcher: FeedFetcher
    /// The credentials of shows and of the sync server.
    let credentials: CredentialStore<ShowID>
    let netrc: Netrc
    /// The journal of running work, which the next daemon reads.
    let work: WorkJournal
    let log = Logger(label: "podfs.daemon")
    private let lastTask = Atomic<Int64>(0)

    init(_ configuration: ServiceConfiguration, _ library: Library, reportingTo events: EventQueue) throws {
        self.configuration = configuration
        self.library = library
        var transfers = configuration.transfers
        // If a server refuses an episode's address, `Refresher.renewAddress(of:)` looks for a newer one.
        transfers.limits.renewsAddress = true
        engine = try TransferEngine(
            configuration: transfers, cacheFolder: configuration.paths.cache,
            events: { events.enqueue(.transfer($0)) }, iterationEnded: { events.scheduleDelivery(now: $0) })
        fetcher = FeedFetcher(engine: engine, limits: configuration.feedLimits)
        credentials = CredentialStore(path: configuration.paths.credentials, remedy: CredentialStore<ShowID>.remedy)
        netrc = Netrc(path: configuration.netrcFile)
        work = WorkJournal(paths: configuration.paths)
    }

    /// Returns a new identifier for a task without a row in the library. Such identifiers are negative.
    func newTask() -> TaskID { TaskID(-lastTask.add(1, ordering: .relaxed).newValue) }
}

/// A component of the service; it has access to the shared objects.
protocol ServicePart {
    nonisolated var driver: CoreDriver { get }
}

extension ServicePart {
    nonisolated var context: ServiceContext { driver.context }
    var configuration: ServiceConfiguration { context.configuration }
    var library: Library { context.library }
    var engine: TransferEngine { context.engine }
    var log: Logger { context.log }
    var credentials: CredentialStore<ShowID> { context.credentials }

    /// The wall clock in seconds since 1970, as the library stores it.
    func now() -> Int64 { configuration.wallClock().seconds }

    /// The current time of a clock that never goes back.
    var uptime: Instant { SystemClock.boottime.now }

    /// The current time by the wall clock and by the clock of `uptime`.
    var moment: Moment { Moment(wall: configuration.wallClock(), uptime: uptime) }

    /// Runs `body`, and logs the error that it throws.
    ///
    /// - Returns: Whether there was none.
    @discardableResult
    func attempt(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            log.error("\(error)")
            return false
        }
    }

    /// Runs `body`, and logs the error that it throws.
    ///
    /// - Returns: Whether there was none.
    @ServiceActor @discardableResult
    func attemptAsync(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch {
            log.error("\(error)")
            return false
        }
    }

    /// Returns a time for the next refresh of a show.
    func nextRefresh(_ facts: RefreshFacts) -> Int64 {
        configuration.schedule.next(facts, now: now(), random: .random(in: 0..<1))
    }

    /// Returns the credentials for requests on behalf of a show; they are sent only to their own origin.
    func credentials(of podcast: ShowID, _ access: ShowAccess) -> Credentials? {
        let stored = credentials[podcast]
        if let stored, stored.fit(access.url) { return stored }
        return context.netrc.credentials(for: access.url, given: access.givenURL) ?? stored
    }

    /// Returns the user's settings for a show.
    func settings(of show: RefreshSubject) -> ShowSettings {
        show.settings.isEmpty ? ShowSettings() : ShowSettings(stored: show.settings)
    }

    /// Returns the template for the names of a show and its episodes: the show's own, or the configured one.
    func nameTemplate(of podcast: ShowID) -> NameTemplate {
        let standard = configuration.nameTemplate
        return settings(of: podcast).nameTemplate?.portable(standard.isPortable) ?? standard
    }

    /// Returns the user's settings for a show; none if they cannot be read.
    func settings(of podcast: ShowID) -> ShowSettings {
        ShowSettings(stored: (try? library.settings(of: podcast)) ?? [:])
    }
}

/// The global actor that the daemon's components share, so that they can call each other synchronously. Long
/// operations, such as network input, parsing and large merges, do not run on it.
@globalActor
actor ServiceActor {
    static let shared = ServiceActor()
}

/// Starts a task on `ServiceActor`, on the threads of `WorkerPool`.
@discardableResult
func startTask<Value: Sendable>(_ body: @escaping @ServiceActor () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: WorkerPool.shared) { await body() }
}

@discardableResult
func startTask<Value: Sendable>(
    _ body: @escaping @ServiceActor () async throws -> Value
) -> Task<Value, any Error> {
    Task(executorPreference: WorkerPool.shared) { try await body() }
}

extension TransferError {
    /// The error of an answer with another status than 200.
    init(status: Int) {
        let code: Code =
            switch status {
            case 401, 403: .refused
            case 404, 410: .missing
            case 429, 500...: .failed
            default: .unusable
            }
        self.init(code, "the server answered \(status)")
    }

    /// The errno of a file system operation that fails with this error.
    var errorNumber: Int32 {
        switch code {
        case .refused, .outOfReach: return EACCES
        case .missing: return ENODATA
        case .unreachable: return EHOSTUNREACH
        case .timedOut: return ETIMEDOUT
        case .diskFull: return ENOSPC
        case .changed: return ESTALE
        case .unusable, .unprobed, .removed, .unverified, .failed: return EIO
        }
    }

    var failure: Failure { Failure(errorNumber: errorNumber, message: message) }
}
