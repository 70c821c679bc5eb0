internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

// Searching the catalogues, and the shows that were found: they can be listed and played without being subscribed to.
extension PodcastService {
    /// Searches and fetches under way, and what they have brought.
    struct SearchState {
        /// Results by catalogue and by how many were asked for: one catalogue that is down is asked again, the others not.
        var caches: [Asked: SearchCache] = [:]
        /// One request for all who search for the same at the same time.
        var running: [Running: Task<[CatalogueEntry], any Error>] = [:]
        var fetches: [ShowID: Task<Void, any Error>] = [:]
        /// Unsubscribed episodes whose files could not go when they were closed.
        var leftBehind: Set<EpisodeID> = []

        struct Asked: Hashable {
            var catalogue: String
            var count: Int
        }

        struct Running: Hashable {
            var asked: Asked
            var term: SearchTerm
        }
    }

    /// Results of a folder, and the least that catalogues are asked for, so that further searches for the same term find
    /// them kept. It is what the iTunes Search API gives by itself.
    static let resultsOfFolder = 50
    /// How long the feed of a found show is fresh, in seconds; as long as the search that has found it.
    private static let freshness = SearchCache.lifetime
    /// How long a found show is kept after it was found or used last, in seconds.
    private static let ephemeralLifetime: Int64 = 86_400

    // MARK: Catalogues

    func search(_ text: String, limit: Int) async throws -> Reply {
        let (entries, problems) = try await entries(for: text, limit: limit)
        let subscribed = try subscriptions()
        let shows = entries.map { entry in
            FoundShow(
                title: entry.title, author: entry.author, url: entry.feedURL, artwork: entry.artwork,
                episodes: entry.episodes, link: entry.link, subscribed: subscribed[Self.key(entry.feedURL)]?.name)
        }
        return .found(shows, problems: problems)
    }

    /// The results as rows of the library.
    func searchFolder(_ text: String) async throws -> [FoundFolder] {
        let (entries, problems) = try await entries(for: text, limit: Self.resultsOfFolder)
        for problem in problems { log.warning("search for '\(text)': \(problem)") }
        let subscribed = try subscriptions()
        let shows = entries.map { entry in
            FoundPodcast(
                url: entry.feedURL, title: entry.title, author: entry.author, image: entry.artwork, link: entry.link,
                subscription: subscribed[Self.key(entry.feedURL)]?.id, reach: entry.space)
        }
        return try library.keep(found: shows, now: now()).map { FoundFolder(podcast: $0.podcast, name: $0.name) }
    }

    /// The subscribed shows by what their addresses have in common with other spellings of them.
    private func subscriptions() throws -> [String: Podcast] {
        var result: [String: Podcast] = [:]
        for podcast in try library.podcasts() {
            for url in [podcast.finalURL, podcast.url] { if let url { result[Self.key(url)] = podcast } }
        }
        return result
    }

    private static func key(_ url: String) -> String { FeedAddress(url)?.key ?? url }

    /// What the catalogues know, and what those say that could not be asked.
    ///
    /// Throws when none could, with the error number for a reader of the file system: that of the failure when all
    /// failed alike, else EIO.
    private func entries(for text: String, limit: Int) async throws -> ([CatalogueEntry], problems: [String]) {
        guard let term = SearchTerm(text) else {
            throw Failure(
                kind: .usage, errorNumber: EINVAL, message: "nothing to search for: give a term of 1 to 200 characters")
        }
        guard (1...CatalogueAnswer.limit).contains(limit) else {
            throw Failure(kind: .usage, message: "a search gives 1 to \(CatalogueAnswer.limit) results")
        }
        let catalogues = configuration.catalogues
        guard !catalogues.isEmpty else { throw Failure(message: "no catalogue is configured") }
        let count = limit <= Self.resultsOfFolder ? Self.resultsOfFolder : CatalogueAnswer.limit
        // What is kept is at hand: nothing goes on then that anybody could see.
        let isKept = catalogues.allSatisfy { catalogue in
            let asked = SearchState.Asked(catalogue: catalogue.name, count: count)
            return searches.caches[asked]?.entries(for: term, now: now()) != nil
        }
        let task = isKept ? nil : beginFeedTask(path: term.text, kind: .search)
        defer { if let task { endFeedTask(task) } }
        var lists = [[CatalogueEntry]](repeating: [], count: catalogues.count)
        var failures: [Failure] = []
        let started = catalogues.map { search($0, for: term, count: count) }
        for (index, search) in started.enumerated() {
            switch await search.result {
            case .success(let entries): lists[index] = entries
            case .failure(let failure as Failure): failures.append(failure)
            case .failure(let error): failures.append(Failure(message: "\(catalogues[index].name): \(error)"))
            }
        }
        if failures.count == catalogues.count {
            let numbers = Set(failures.map(\.errorNumber))
            throw Failure(
                errorNumber: numbers.count == 1 ? numbers.first ?? EIO : EIO,
                message: "nothing could be searched: \(failures.map(\.message).joined(separator: "; "))")
        }
        return (CatalogueEntry.merged(lists, limit: limit), failures.map(\.message))
    }

    /// The search of one catalogue: one that is under way, or a new one, or what the last one has brought.
    private func search(
        _ catalogue: any Catalogue, for term: SearchTerm, count: Int
    ) -> Task<[CatalogueEntry], any Error> {
        let asked = SearchState.Asked(catalogue: catalogue.name, count: count)
        let key = SearchState.Running(asked: asked, term: term)
        if let running = searches.running[key] { return running }
        let task = startTask { service -> [CatalogueEntry] in
            defer { service.searches.running[key] = nil }
            if let kept = service.searches.caches[asked]?.entries(for: term, now: service.now()) { return kept }
            let entries = try await service.ask(catalogue, for: term, count: count)
            service.searches.caches[asked, default: SearchCache()].store(entries, for: term, now: service.now())
            return entries
        }
        searches.running[key] = task
        return task
    }

    private func ask(_ catalogue: any Catalogue, for term: SearchTerm, count: Int) async throws -> [CatalogueEntry] {
        do {
            let asked = try catalogue.request(for: term, limit: count, now: now())
            var request = DataRequest(url: asked.url, limit: CatalogueAnswer.largest)
            request.fields = asked.fields
            request.timeout = configuration.searchTimeout
            request.followsRedirects = !asked.hasCredentials
            var head: ResponseHead?
            var body: [UInt8] = []
            for try await event in engine.data(for: request) {
                switch event {
                case .head(let found): head = found
                case .bytes(let bytes): body += bytes
                }
            }
            guard let head else { throw TransferError(.failed, "no answer") }
            return try catalogue.entries(head: head, body: body).map { entry in
                var entry = entry
                entry.space = head.space
                return entry
            }
        } catch let error as CatalogueError {
            throw Failure(errorNumber: EIO, message: error.description)
        } catch let error as TransferError {
            let isLate = error.code == .timedOut
            let says = isLate ? "no answer within \(configuration.searchTimeout / 1_000) s" : error.message
            throw Failure(errorNumber: error.errorNumber, message: "\(catalogue.name): \(says)")
        }
    }

    /// The space of the catalogue that has named a feed of late; `nil` when none has.
    func catalogueSpace(of url: String) -> AddressSpace? {
        let key = Self.key(url)
        return searches.caches.values.compactMap { cache in
            cache.space { Self.key($0.feedURL) == key }
        }.min()
    }

    // MARK: Found shows

    /// Makes sure that the episodes of a found show are in the library. What is known of one stays when its feed cannot be
    /// had now; only a show of which nothing is known is an error then.
    func fetchShow(_ id: ShowID) async throws -> Reply {
        guard let podcast = try library.podcast(id: id) else {
            throw Failure(errorNumber: ENOENT, message: "the search result is no longer kept: search again")
        }
        // A subscribed show has a schedule of its own.
        guard podcast.ephemeral else { return .done }
        try library.renew(found: [id], now: now())
        if let last = podcast.lastRefresh, last <= now(), now() - last < Self.freshness { return .done }
        let task =
            searches.fetches[id]
            ?? startTask { service in
                defer { service.searches.fetches[id] = nil }
                try await service.fetch(podcast)
            }
        searches.fetches[id] = task
        do {
            try await task.value
        } catch {
            guard let known = try library.podcast(id: id), known.episodes > 0 else { throw error }
            log.warning("\(known.name): \(error); its episodes are listed as they were")
        }
        return .done
    }

    private func fetch(_ podcast: Podcast) async throws {
        let task = beginFeedTask(path: podcast.name)
        defer { endFeedTask(task) }
        do {
            let answer = try await fetcher.fetch(
                podcast.url, reach: try library.showAccess(of: podcast.id)?.reach, etag: podcast.etag,
                lastModified: podcast.lastModified, timeout: configuration.searchTimeout)
            switch answer {
            case .notModified(let response):
                try library.notModified(podcast: podcast.id, response: response, now: now())
            case .feed(let feed, let response):
                _ = try library.merge(
                    feed: feed, into: podcast.id, response: response, template: configuration.nameTemplate, now: now())
            }
        } catch let failure as FetchFailure {
            try? library.refreshFailed(
                podcast: podcast.id, status: failure.status, error: failure.message, next: nil, now: now())
            broadcastChange(podcast: podcast.id, name: podcast.name)
            throw Failure(errorNumber: Self.errorNumber(of: failure), message: failure.message)
        } catch LibraryError.noSuchPodcast {
            throw Failure(errorNumber: ENOENT, message: "the search result is no longer kept: search again")
        }
        broadcastChange(podcast: podcast.id, name: podcast.name)
    }

    private static func errorNumber(of failure: FetchFailure) -> Int32 {
        if let code = failure.code { return TransferError(code, "").errorNumber }
        switch failure.status {
        case 401, 403: return EACCES
        case 404, 410: return ENODATA
        default: return EIO
        }
    }

    // MARK: Leaving nothing behind

    /// Forgets the search results that nobody has found or used for a day.
    ///
    /// - Parameter moment: when it is taken to be, in seconds; now by itself.
    package func purgeEphemeral(at moment: Int64? = nil) {
        let now = moment ?? now()
        do {
            // Retried here: a reader's lease on a file may end a moment after the file was closed.
            for episode in searches.leftBehind { startTask { await $0.dropEphemeral(episode) } }
            var used = try library.ephemeralPodcastsPinned().union(tasks.values.map(\.podcast))
            for episode in openEpisodes().union(searches.leftBehind) {
                if let podcast = try library.place(of: episode)?.podcast { used.insert(podcast) }
            }
            try library.renew(found: used, now: now)
            for rendition in try library.purgeEphemeral(before: now - Self.ephemeralLifetime) {
                engine.forget(MediaID(rendition.episode))
                engine.removeFile(rendition.file)
            }
        } catch {
            log.error("\(error)")
        }
    }

    /// The daemon begins: what an earlier one has left of unsubscribed episodes goes, but for what is open in a mount that
    /// has outlived it.
    func forgetEphemeralMedia() throws {
        for download in try library.downloads() {
            guard let episode = try library.episode(id: download.episode), !episode.pinned,
                try library.isEphemeral(podcast: episode.podcast)
            else { continue }
            try library.removeDownload(id: download.id)
        }
        for rendition in try library.ephemeralRenditions() {
            if try !evict(rendition.file, of: rendition.episode) { searches.leftBehind.insert(rendition.episode) }
        }
    }

    /// An episode was closed. Of an unsubscribed one nothing stays, unless somebody opens it again soon.
    func closed(_ episode: EpisodeID) {
        // Its download is one in the background from now on; or its file may go.
        if tasks[episode] != nil || lacksSpace { makeRoom() }
        guard !openEpisodes().contains(episode), let place = try? library.place(of: episode),
            (try? library.isEphemeral(podcast: place.podcast)) ?? false
        else { return }
        let linger = configuration.ephemeralLinger
        Task(executorPreference: WorkerPool.shared) { [weak self] in
            await Timers.sleep(for: .seconds(linger))
            await self?.dropEphemeral(episode)
        }
    }

    private func dropEphemeral(_ episode: EpisodeID) async {
        takeEvents()
        searches.leftBehind.remove(episode)
        do {
            // Whoever has it open closes it later; who has subscribed in between keeps it.
            guard !openEpisodes().contains(episode), let row = try library.episode(id: episode), !row.pinned,
                try library.isEphemeral(podcast: row.podcast)
            else { return }
            if let rendition = try library.rendition(of: episode) {
                guard try evict(rendition.file, of: episode) else {
                    searches.leftBehind.insert(episode)
                    return
                }
            } else {
                engine.forget(MediaID(episode))
            }
            try await removeTask(episode)
            broadcastChange(episode: episode)
            log.info("dropped what was cached of \(row.name), which is not subscribed")
        } catch {
            log.error("\(error)")
        }
        considerIdle()
    }
}
