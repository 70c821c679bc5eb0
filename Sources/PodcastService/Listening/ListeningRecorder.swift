internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The recorder of what has been played: stores players' reports, and the played marks and positions that a person
/// sets.
@ServiceActor
final class ListeningRecorder: ServicePart {
    nonisolated let driver: CoreDriver
    private let tidier: Tidier
    private var book = ListeningBook()

    init(_ driver: CoreDriver, _ tidier: Tidier) {
        self.driver = driver
        self.tidier = tidier
    }

    /// Stores and broadcasts the changes in a player's report. If they mark the episode as played, runs the hook and
    /// updates the show's automatic downloads.
    ///
    /// - Returns: the position at which the player should continue.
    func report(_ report: ListeningReport) throws -> Reply {
        var report = report
        report.episode = try library.mainEpisode(of: report.episode)
        guard let stored = try library.listening(of: report.episode) else {
            throw LibraryError.noSuchEpisode(report.episode)
        }
        guard let report = report.validated(within: stored.duration) else {
            throw Failure(
                kind: .usage, errorNumber: EINVAL, message: "a report needs a player and a position in seconds")
        }
        // Use the clock by which the senders time their reports: CLOCK_MONOTONIC, which stops while the machine sleeps.
        let verdict = book.handle(report, stored: stored, at: SystemClock.monotonic.now)
        guard let change = verdict.change else { return .listening(resume: verdict.resume) }
        try library.recordListening(to: report.episode, change, now: now())
        var news = stored
        (news.played, news.position) = (change.played, report.position)
        news.duration = change.total ?? stored.duration
        // The listening event, then the event of the changed episode, on which mounts and views act.
        if let path = driver.facts(of: report.episode)?.path {
            driver.report(.listened(report.episode, path: path, news), .changedEpisode(report.episode))
        }
        if change.played, !stored.played {
            driver.runHook(configuration.onPlayed, episode: report.episode)
            try tidier.follow(report.episode)
        }
        return .listening(resume: verdict.resume)
    }

    func setPlayed(_ file: EpisodeID, _ played: Bool) throws -> Reply {
        let episode = try library.mainEpisode(of: file)
        let stored = try library.listening(of: episode)
        try library.setPlayed(episode: episode, played, now: now())
        driver.changed(episode: episode)
        if played, stored?.played == false { driver.runHook(configuration.onPlayed, episode: episode) }
        try tidier.follow(episode)
        return .done
    }

    func setPosition(_ file: EpisodeID, _ seconds: Double) throws -> Reply {
        let episode = try library.mainEpisode(of: file)
        guard (0...ListeningRules.longest).contains(seconds) else {
            throw Failure(
                kind: .usage, errorNumber: EINVAL,
                message: "a position is a number of seconds from 0 to \(SyncedState.longest)")
        }
        try library.setPosition(episode: episode, seconds, now: now())
        driver.changed(episode: episode)
        return .done
    }

    /// Marks all episodes of a show as played or unplayed. Unlike for a single episode, no hook runs.
    func setPlayed(_ podcast: ShowID, _ played: Bool) throws -> Reply {
        let count = try library.setPlayed(podcast: podcast, played, now: now())
        if count > 0 {
            if let show = try library.folder(id: podcast) { driver.changed(podcast: podcast, name: show.name) }
            try tidier.follow(podcast)
        }
        return .acted(count: count, problems: [])
    }
}
