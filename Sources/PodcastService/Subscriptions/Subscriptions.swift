internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The commands on subscriptions: subscribing, renaming, unsubscribing.
@ServiceActor
final class Subscriptions: ServicePart {
    nonisolated let driver: CoreDriver
    let tasks: TaskCommands
    let tidier: Tidier
    let refresher: Refresher
    let searches: Searches
    let assets: Assets
    let copies: LibraryCopies
    /// Writes new shows to the library.
    let arrivals: ArrivalWriter

    init(_ refresher: Refresher, _ tasks: TaskCommands, _ searches: Searches, _ assets: Assets) {
        driver = refresher.driver
        self.tasks = tasks
        tidier = refresher.tidier
        self.refresher = refresher
        self.searches = searches
        self.assets = assets
        copies = refresher.copies
        arrivals = ArrivalWriter(library: driver.context.library, template: driver.context.configuration.nameTemplate)
    }

    func subscribe(_ url: String, name: String?) async throws -> Reply {
        let (url, reach) = try await feedAddress(url)
        do {
            return try await subscribe(PrivateAddress(url), name: name, reach: reach)
        } catch let failure as FetchFailure {
            // The web page of a show names its feed. A page that this one names in place of a feed is not followed.
            guard let page = failure.page, page.feeds.count == 1, let feed = page.feeds.first else { throw failure }
            try Self.checkAddress(feed.url)
            return try await subscribe(PrivateAddress(feed.url), name: name, reach: page.space ?? .public)
        }
    }

    private func subscribe(_ address: PrivateAddress, name: String?, reach: AddressSpace?) async throws -> Reply {
        if let known = try library.podcast(url: address.url), !known.ephemeral {
            guard let given = address.credentials, given != credentials[known.id] else {
                throw Self.alreadySubscribed(known.name)
            }
            return try await replaceCredentials(of: known, with: address)
        }
        let task = driver.beginFetch(path: address.visible)
        defer { driver.finishFetch(task) }
        do {
            let result = try await add(
                address, name: name, reach: reach ?? searches.catalogueSpace(of: address.url))
            return .subscribed(
                name: result.podcast.name, episodes: result.podcast.episodes, skipped: result.skipped)
        } catch LibraryError.alreadySubscribed(let name) {
            throw Self.alreadySubscribed(name)
        } catch LibraryError.invalidName(let name, let reason) {
            throw Failure(kind: .usage, message: "'\(name)' cannot be a folder's name: \(reason)")
        }
    }

    private static func alreadySubscribed(_ name: String) -> Failure {
        Failure(
            message: "already subscribed as '\(name)'; to fetch it again: podfs refresh \(ShellQuoting.quoted(name))")
    }

    func unsubscribe(_ id: ShowID) async throws -> Reply {
        guard let podcast = try library.podcast(id: id) else { throw Failure(message: "there is no such show") }
        driver.drainEvents()
        let files = try library.files(of: id)
        for file in files { engine.discard(MediaID(file)) }
        driver.report(files.map { .ended(MediaID($0)) })
        for rendition in try library.unsubscribe(podcast: id) { engine.cache.remove(rendition.file) }
        refresher.feeds.removeJob(id)
        tidier.rhythms[id] = nil
        refresher.documents.remove(id)
        driver.changed(podcast: id, name: podcast.name)
        copies.subscriptionsChanged()
        await driver.underWay { await assets.store.remove(podcast: id, episodes: files) }
        // The credentials are removed last, because a full disk may prevent this write. The show is then already gone.
        try credentials.set(nil, for: id)
        return .done
    }

    func rename(_ podcast: ShowID?, _ episode: EpisodeID?, _ name: String) throws -> Reply {
        do {
            if let podcast {
                let formerName = try library.podcast(id: podcast)?.name
                let name = try library.renamePodcast(id: podcast, to: name)
                refresher.feeds.removeJob(podcast)
                copies.subscriptionsChanged()
                driver.changed(podcast: podcast, name: name, formerName: formerName)
                try tasks.renameTasks(of: podcast)
            } else if let episode {
                let formerName = try library.place(of: episode)?.name
                let result = try library.renameEpisode(id: episode, to: name)
                driver.changed(episode: episode, formerName: formerName)
                if let podcast = tasks.downloads[MediaID(episode)]?.show { try tasks.renameTasks(of: podcast) }
                return .text(result)
            }
            return .done
        } catch let error as LibraryError {
            throw Failure(kind: .usage, message: "\(error)")
        }
    }

    /// Renames the episodes of the given shows, or of all shows if `podcasts` is empty, each by its show's template for
    /// names. If a show's template requires portable names, and its folder's name is not portable, renames the folder
    /// too.
    ///
    /// - Returns: the former and the new paths.
    func renameByTemplate(_ podcasts: [ShowID], isDryRun: Bool) throws -> Reply {
        var changes: [RenamedPath] = []
        for podcast in podcasts.isEmpty ? try library.podcasts().map(\.id) : podcasts {
            guard let former = try library.podcast(id: podcast)?.name else { continue }
            let renamings = try library.renameAll(by: nameTemplate(of: podcast), podcast: podcast, isDryRun: isDryRun)
            let folder = renamings.first { $0.episode == nil }?.name ?? former
            changes += renamings.map { renaming in
                renaming.episode == nil
                    ? RenamedPath(former: former, path: folder)
                    : RenamedPath(former: "\(former)/\(renaming.former)", path: "\(folder)/\(renaming.name)")
            }
            if isDryRun || renamings.isEmpty { continue }
            for renaming in renamings {
                if let episode = renaming.episode { driver.changed(episode: episode, formerName: renaming.former) }
            }
            if folder != former {
                refresher.feeds.removeJob(podcast)
                copies.subscriptionsChanged()
            }
            driver.changed(podcast: podcast, name: folder, formerName: folder == former ? nil : former)
            try tasks.renameTasks(of: podcast)
        }
        return .renamed(changes)
    }

    /// Resolves the address that a person entered to the address of a feed.
    ///
    /// - Returns: The address of the feed. If `url` is a show's page in a podcast directory, the directory's response
    ///   names the feed, and `reach` is the network that this response came from: the internet, a local network or this
    ///   computer. Otherwise `url` itself, and `nil`.
    func feedAddress(_ url: String) async throws -> (url: String, reach: AddressSpace?) {
        try Self.checkAddress(url)
        guard let page = CataloguePage(url) else { return (url, nil) }
        let found = try await searches.feed(of: page)
        return (found.url, found.space)
    }

    static func checkAddress(_ url: String) throws {
        if let advice = CataloguePage.advice(on: url) { throw Failure(message: advice) }
        if let problem = WebAddress.problem(with: url) {
            throw Failure(
                kind: .usage,
                message: "\(PrivateAddress(url).visible) \(problem): give the http:// or https:// address of a feed")
        }
    }
}

// The feeds that a web page names.
extension Subscriptions {
    /// Returns the feed at an address, or the feeds that the web page at this address names, as results of a search.
    func feeds(at url: String) async throws -> Reply {
        let (url, found) = try await retrieve(url)
        if let page = found.problem?.page, !page.feeds.isEmpty {
            return .found(try page.feeds.map { try show($0.title ?? $0.url, $0.url) }, problems: [])
        }
        if let problem = found.problem { throw problem }
        let title = found.feed?.title ?? PrivateAddress(url).visible
        return .found([try show(title, url, episodes: found.feed?.items.count)], problems: [])
    }

    /// Returns what the parser reads in the feed at an address.
    func inspect(_ url: String) async throws -> Reply {
        let found = try await retrieve(url).found
        if let problem = found.problem { throw problem }
        return .text(String(decoding: found.feed?.inspectJSON() ?? [], as: UTF8.self))
    }

    private func retrieve(_ url: String) async throws -> (url: String, found: FeedFetcher.Retrieved) {
        let (url, reach) = try await feedAddress(url)
        let own = context.netrc.credentials(for: url, given: reach == nil ? url : nil)
        return (url, try await context.fetcher.retrieve(.init(url: url, reach: reach, credentials: own)))
    }

    private func show(_ title: String, _ url: String, episodes: Int? = nil) throws -> FoundShow {
        let known = try library.podcast(url: PrivateAddress(url).url)
        return FoundShow(
            title: title, url: url, episodes: episodes, subscribed: known.flatMap { $0.ephemeral ? nil : $0.name })
    }
}

// Settings of one show: `podfs set SHOW KEY=VALUE`.
extension Subscriptions {
    /// Changes settings of a show. All assignments are checked before the first is applied.
    ///
    /// - Parameter isConfirmed: whether to apply a `keep` that removes cached or played episodes.
    func set(_ id: ShowID, _ assignments: [String], isConfirmed: Bool) throws -> Reply {
        guard let podcast = try library.podcast(id: id) else { throw Failure(message: "there is no such show") }
        let changes = try assignments.map { try ShowSettingChange($0) }
        if changes.isEmpty { return .settings(try library.shownSettings(of: id)) }
        let before = settings(of: id).keep ?? configuration.keep
        let after = changes.last { $0.key == .keep }.map { $0.value.flatMap(Keep.init) ?? configuration.keep } ?? before
        var change: KeepChange?
        if after != before { change = try keepChange(of: podcast, to: after, isConfirmed: isConfirmed) }
        try library.group {
            for change in changes {
                if change.key == .tags {
                    try library.setTags(try Tag.list(change.value ?? ""), of: id)
                } else {
                    try library.set(podcast: id, key: change.key.rawValue, value: change.value, now: now())
                }
            }
            // `tidy` restores the removed episodes that the library records as listed in the feed. By now the feed may
            // list others of them. To restore those, the next refresh has to fetch the whole feed, so it must not send
            // the validators (podfs.conf(5), `keep`).
            if !after.isWithin(before) { try library.clearValidators(of: id) }
        }
        refresher.feeds.removeJob(id)
        copies.subscriptionsChanged()
        try tidier.tidy(id)
        driver.changed(podcast: id, name: podcast.name)
        return .settings(try library.shownSettings(of: id), kept: change)
    }

    /// Returns how many episodes of a show a new `keep` would remove, and how many it would restore; `nil` if it would
    /// change nothing. Throws a `Failure` of kind `refused` if it would remove cached or played episodes, and that is
    /// not confirmed. Changes nothing.
    private func keepChange(of podcast: Podcast, to keep: Keep, isConfirmed: Bool) throws -> KeepChange? {
        let (staying, leaving) = try tidier.divide(podcast.id, keep)
        let removed = leaving.filter { !$0.isBuried }
        let returned = staying.count(where: \.isBuried)
        if removed.isEmpty, returned == 0 { return nil }
        let change = KeepChange(
            removed: removed.count, total: removed.count + staying.count - returned,
            bytes: removed.reduce(0) { $0 + $1.cachedBytes }, returned: returned)
        let cached = removed.count { $0.cachedBytes > 0 }
        let played = removed.count(where: \.played)
        if isConfirmed || cached + played == 0 { return change }
        var losses: [String] = []
        if cached > 0 { losses.append("\(cached) of them cached (\(ByteText.size(change.bytes)))") }
        if played > 0 { losses.append("\(played) played") }
        throw Failure(
            kind: .refused,
            message: "keep='\(keep)' removes \(change.removed) of \(change.total) episodes of \(podcast.name), "
                + "\(losses.joined(separator: " and ")): nothing was changed; add --yes to go on")
    }
}
