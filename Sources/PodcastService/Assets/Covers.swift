internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The unattended fetches of covers: of each subscribed show once, and again when its feed names another address. So
/// the pages show covers without waiting for a server.
///
/// The library stores which covers are due, so that the next daemon continues.
@ServiceActor
final class Covers: ServicePart {
    nonisolated let driver: CoreDriver
    private let assets: Assets
    private var running: Set<ShowID> = []
    /// The end of the pause after the library could not be written.
    private var pausedUntil: Instant?

    /// The maximum number of covers that are fetched at the same time.
    private static let mostAtOnce = 4
    private static let pause = Duration.seconds(600)

    init(_ assets: Assets, _ driver: CoreDriver) {
        self.driver = driver
        self.assets = assets
    }

    /// The time of the chore `fetchCovers`; `nil` if there is nothing to fetch. While covers are fetched, each of them
    /// is followed by the next one that is due.
    var next: WallTime? {
        guard running.isEmpty, let due = (try? library.nextCover()) ?? nil else { return nil }
        let pause = pausedUntil.map { configuration.wallClock() + max(.zero, $0 - uptime) }
        return max(.seconds(due), pause ?? .seconds(due))
    }

    /// Fetches covers that are due. The conditions for unattended work permit it.
    func run() {
        attempt {
            let due = try library.coversDue(at: now(), limit: running.count + Self.mostAtOnce)
            for show in due.filter({ !running.contains($0) }).prefix(Self.mostAtOnce - running.count) {
                running.insert(show)
                startTask { [self] in
                    let isRecorded = await driver.underWay {
                        await attemptAsync { try await assets.fetchCover(of: show) }
                    }
                    if !isRecorded { pausedUntil = uptime + Self.pause }
                    running.remove(show)
                    if driver.core.allowsDiscretionary, pausedUntil.map({ $0 <= uptime }) ?? true { run() }
                    if running.isEmpty { driver.report(.rescheduled) }
                }
            }
        }
    }
}
