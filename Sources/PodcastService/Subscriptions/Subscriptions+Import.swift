internal import Foundation
internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// Imports of shows from lists. Each show of a list is imported by its own command. If the client disconnects, the
// fetches that have begun continue, and the other imports fail.
extension Subscriptions {
    /// The sync server that lists a show.
    struct ListingServer: Sendable {
        /// The show's address on the server.
        var address: String
        /// The network in which the server is: the internet, the local network or this computer.
        var space: AddressSpace
    }

    /// Subscribes to one show of a list, or adds the tags of the list to a show that is already subscribed to.
    ///
    /// - Parameters:
    ///   - client: the requesting client; `nil` if none waits for the result. If the client has disconnected before the
    ///     fetch begins, the import fails.
    ///   - server: the sync server, if it lists the show.
    func importShow(
        _ item: ImportItem, for client: ClientConnection? = nil, from server: ListingServer? = nil
    ) async throws -> ImportResult {
        let address = PrivateAddress(item.url)
        if let problem = WebAddress.problem(with: item.url) { return .refused(error: "\(address.visible) \(problem)") }
        if let known = try subscribedName(at: address.url) { return try tagged(.known(name: known), item) }
        guard let slot = await refresher.acquireSlot(host: WebAddress.host(of: address.url)) else {
            let failure = FetchFailure(
                status: 429,
                message: "\(address.visible): the server has asked for fewer requests; podfs retries later")
            return try tagged(try subscribeUnfetched(item, address, failure, server), item)
        }
        var outcome = HostQueue.FetchOutcome.answered
        let result: Result<ImportResult, any Error>
        do {
            guard client?.state.withLock({ !$0.isClosed }) ?? true else {
                throw Failure(message: "the client has disconnected")
            }
            try Task.checkCancellation()
            result = .success(try await fetch(item, address, server))
        } catch let failure as FetchFailure {
            // A 503 is not a refusal here: a single one says too little about a host with hundreds of feeds.
            if failure.status == 429 {
                outcome = .refused(retryAfter: failure.head.flatMap { Freshness.retryAfter($0, now: now()) })
            }
            result = Result {
                // A fetch that failed because it was cancelled says nothing about the show.
                try Task.checkCancellation()
                return try handle(failure, item, address, server)
            }
        } catch {
            result = .failure(error)
        }
        refresher.releaseSlot(slot, outcome)
        return try tagged(try result.get(), item)
    }

    /// Adds the names of the list's folders to the tags of an imported show, and returns `result`.
    private func tagged(_ result: ImportResult, _ item: ImportItem) throws -> ImportResult {
        let tags = Tag.list(folders: item.folders ?? [])
        let name: String
        switch result {
        case .added(let shown, _), .known(let shown), .kept(let shown, _): name = shown
        case .refused: return result
        }
        guard !tags.isEmpty, let show = try library.folder(named: name) else { return result }
        try library.addTags(tags, to: show.id)
        copies.subscriptionsChanged()
        driver.changed(podcast: show.id, name: name)
        return result
    }

    // MARK: Outcomes

    private func fetch(
        _ item: ImportItem, _ address: PrivateAddress, _ server: ListingServer?
    ) async throws -> ImportResult {
        if let known = try subscribedName(at: address.url) { return .known(name: known) }
        let task = driver.beginFetch(path: address.visible)
        defer { driver.finishFetch(task) }
        do {
            let result = try await add(
                address, title: item.title, fromServer: server?.address, reach: server?.space, task: task)
            return .added(name: result.podcast.name, episodes: result.podcast.episodes)
        } catch LibraryError.alreadySubscribed(let name) {
            return .known(name: name)
        }
    }

    /// Handles a failed fetch. Subscribes to the show without episodes, so that the import does not omit a show only
    /// because its server is unavailable. A feed that has no audio or video files, or is gone for good, is refused.
    private func handle(
        _ failure: FetchFailure, _ item: ImportItem, _ address: PrivateAddress, _ server: ListingServer?
    ) throws -> ImportResult {
        if failure.hasNoMedia || failure.isGone { return .refused(error: failure.message) }
        return try subscribeUnfetched(item, address, failure, server)
    }

    /// Subscribes to a show whose feed cannot be fetched now.
    private func subscribeUnfetched(
        _ item: ImportItem, _ address: PrivateAddress, _ failure: FetchFailure, _ server: ListingServer?
    ) throws -> ImportResult {
        var show = UnfetchedShow(
            url: address.url, title: item.title, link: item.link, error: failure.message, httpStatus: failure.status,
            next: configuration.schedule.next(
                RefreshFacts(head: failure.head, failures: 1), now: now(), random: .random(in: 0..<1)))
        show.isGiven = server == nil
        show.reach = server?.space
        let kept = try subscribeUnfetched([(show, address.credentials)], fromServer: server?.address)
        let name = kept.first?.name ?? ""
        guard kept.first?.isNew == true else { return .known(name: name) }
        log.warning("kept \(name) without episodes: \(failure.message)")
        return .kept(name: name, error: failure.message)
    }

    /// Subscribes to shows without fetching their feeds, and notifies watching clients.
    func subscribeUnfetched(
        _ shows: [(show: UnfetchedShow, credentials: Credentials?)], fromServer server: String? = nil
    ) throws -> [UnfetchedShowResult] {
        let kept = try library.subscribeUnfetched(
            shows.map(\.show), template: configuration.nameTemplate, fromServer: server, now: now())
        // The shows are in the library, even if a password cannot be stored.
        defer {
            driver.report(
                kept.filter(\.isNew).map { .changedShow($0.podcast, name: $0.name) })
            copies.subscriptionsChanged()
        }
        for (result, credentials) in zip(kept, shows.map(\.credentials)) {
            guard result.isNew, let credentials else { continue }
            try library.setHasCredentials(podcast: result.podcast, true)
            try self.credentials.set(credentials, for: result.podcast)
        }
        return kept
    }

    /// Returns the name of the subscribed show with this address. Ignores the scheme (http or https) and a trailing
    /// slash, which differ between the lists of different programs.
    private func subscribedName(at url: String) throws -> String? {
        var addresses = [url]
        if let colon = url.firstIndex(of: ":") {
            addresses.append((url[..<colon].lowercased() == "http" ? "https" : "http") + url[colon...])
        }
        addresses += addresses.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 + "/" }
        return try library.subscribedName(atAnyOf: addresses)
    }
}
