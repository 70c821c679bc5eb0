internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// Shows that a search has found. They can be listed and played without a subscription, and are deleted when they have
/// been unused for a day.
@ServiceActor
final class FoundShows: ServicePart {
    nonisolated let driver: CoreDriver
    private let tasks: TaskCommands
    /// Running fetches of feeds, by show.
    private var fetches: [ShowID: Task<Void, any Error>] = [:]
    /// Episodes of unsubscribed shows whose files could not be removed: a program was using them, or
    /// the removal failed.
    private var leftBehind: Set<EpisodeID> = []

    /// The time for which a found show is retained after a search last returned it or somebody last used it.
    private static let ephemeralLifetime = Duration.seconds(86_400)

    init(_ tasks: TaskCommands) {
        driver = tasks.driver
        self.tasks = tasks
    }

    /// Ensures that the episodes of a found show are in the library. If its feed cannot be fetched, known episodes
    /// stay; the failure is an error only if there are none.
    func fetchShow(_ id: ShowID) async throws -> Reply {
        guard let podcast = try library.podcast(id: id) else {
            throw Failure(errorNumber: ENOENT, message: "the search result has expired: search again")
        }
        // A subscribed show is refreshed on a schedule of its own.
        guard podcast.ephemeral else { return .done }
        try library.renew(found: [id], now: now())
        if let last = podcast.lastRefresh, last <= now(), now() - last < Searches.lifetime.seconds { return .done }
        let task =
            fetches[id]
            ?? startTask { [self] in
                defer { fetches[id] = nil }
                try await fetch(podcast)
            }
        fetches[id] = task
        do {
            try await task.value
        } catch {
            guard let known = try library.podcast(id: id), known.episodes > 0 else { throw error }
            log.warning("\(known.name): \(error); its last known episodes are listed")
        }
        return .done
    }

    private func fetch(_ podcast: Podcast) async throws {
        let task = driver.beginFetch(path: podcast.name)
        defer { driver.finishFetch(task) }
        do {
            let answer = try await context.fetcher.retrieve(
                FeedFetcher.FeedRequest(
                    url: podcast.url, reach: library.showAccess(of: podcast.id)?.reach, etag: podcast.etag,
                    lastModified: podcast.lastModified, timeout: configuration.searchTimeout))
            if let problem = answer.problem { throw problem }
            if let feed = answer.feed {
                _ = try await library.mergeConcurrently(
                    feed, into: podcast.id, answer.response, template: configuration.nameTemplate, now: now())
            } else {
                let unchanged = (podcast: podcast.id, response: answer.response)
                if try !library.recordUnchanged([unchanged], now: now()).isEmpty {
                    throw LibraryError.noSuchPodcast(podcast.id)
                }
            }
        } catch let failure as FetchFailure {
            _ = try? library.refreshFailed(
                podcast: podcast.id, status: failure.status, isGone: failure.sign == .ended, error: failure.message,
                next: nil, now: now())
            driver.changed(podcast: podcast.id, name: podcast.name)
            let error = failure.code.map { TransferError($0, "") } ?? TransferError(status: failure.status ?? 0)
            throw Failure(errorNumber: error.errorNumber, message: failure.message)
        } catch LibraryError.noSuchPodcast {
            throw Failure(errorNumber: ENOENT, message: "the search result has expired: search again")
        }
        driver.changed(podcast: podcast.id, name: podcast.name)
    }

    // MARK: Clean-up

    /// Deletes the found shows that have been unused for a day: no search has returned them, and no person or task has
    /// used them. Also tries again to remove files that were in use.
    ///
    /// - Parameter moment: the current time in seconds since 1970; `nil` for that of the wall clock.
    func purge(at moment: Int64? = nil) {
        let now = moment ?? now()
        attempt {
            // These removals failed earlier because a program was using the file. They may succeed now: a reader's
            // lease on a file can end a moment after the close.
            for episode in leftBehind { startTask { [self] in await dropEphemeral(episode) } }
            var used = try library.ephemeralPodcastsPinned().union(tasks.downloads.values.map(\.show))
            for episode in driver.clients.openEpisodes.union(leftBehind) {
                if let podcast = try library.place(of: episode)?.podcast { used.insert(podcast) }
            }
            try library.renew(found: used, now: now)
            for rendition in try library.purgeEphemeral(before: now - Self.ephemeralLifetime.seconds) {
                engine.discard(MediaID(rendition.episode))
                engine.cache.remove(rendition.file)
            }
        }
    }

    /// Removes what an earlier daemon left behind: the tasks and cached files of unpinned episodes of unsubscribed
    /// shows. A file stays if it is open in a mount that has outlived that daemon; `purge` tries again.
    func removeMedia() throws {
        for download in try library.downloads() {
            guard let episode = try library.episode(id: download.episode), !episode.pinned,
                try library.isEphemeral(podcast: episode.podcast)
            else { continue }
            try library.removeDownload(id: download.id)
        }
        for rendition in try library.ephemeralRenditions() {
            if try !driver.evict(rendition.file, of: rendition.episode) { leftBehind.insert(rendition.episode) }
        }
    }

    /// Handles a closed episode. If its show is not subscribed, its file is removed unless the episode is reopened
    /// within `ephemeralLinger`.
    func closed(_ episode: EpisodeID) {
        driver.report(.closed(MediaID(episode)))
        guard !driver.clients.openEpisodes.contains(episode), let place = try? library.place(of: episode),
            (try? library.isEphemeral(podcast: place.podcast)) ?? false
        else { return }
        let linger = configuration.ephemeralLinger
        startTask { [weak self] in
            await Timers.sleep(for: linger)
            await self?.dropEphemeral(episode)
        }
    }

    private func dropEphemeral(_ episode: EpisodeID) async {
        driver.drainEvents()
        leftBehind.remove(episode)
        let isDone = await attemptAsync {
            // If another client has the episode open, that client's close removes the file. If the show is now
            // subscribed or the episode pinned, the file stays.
            guard !driver.clients.openEpisodes.contains(episode), let row = try library.episode(id: episode),
                !row.pinned, try library.isEphemeral(podcast: row.podcast)
            else { return }
            if let rendition = try library.rendition(of: episode) {
                guard try driver.evict(rendition.file, of: episode) else {
                    leftBehind.insert(episode)
                    return
                }
            } else {
                engine.discard(MediaID(episode))
            }
            try await tasks.removeDiscarded([episode])
            driver.changed(episode: episode)
            log.info("removed the cached bytes of \(row.name), whose show is not subscribed")
        }
        // `purge` tries again.
        if !isDone { leftBehind.insert(episode) }
    }
}
