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
        // The next feed of the host is fetched while this one is stored.
        var isFetching = true
        func release(_ outcome: HostQueue.FetchOutcome) {
            if isFetching { refresher.releaseSlot(slot, outcome) }
            isFetching = false
        }
        var outcome = HostQueue.FetchOutcome.answered
        defer { release(outcome) }
        do {
            guard client?.state.withLock({ !$0.isClosed }) ?? true else {
                throw Failure(message: "the client has disconnected")
            }
            try Task.checkCancellation()
            return try tagged(try await fetch(item, address, server) { release(.answered) }, item)
        } catch let failure as FetchFailure {
            // A 503 is not a refusal here: a single one says too little about a host with hundreds of feeds.
            if failure.status == 429 {
                outcome = .refused(retryAfter: failure.head.flatMap { Freshness.retryAfter($0, now: now()) })
            }
            // A fetch that failed because it was cancelled says nothing about the show.
            try Task.checkCancellation()
            if failure.hasNoMedia || failure.sign == .ended { return .refused(error: failure.message) }
            return try tagged(try subscribeUnfetched(item, address, failure, server), item)
        }
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
        _ item: ImportItem, _ address: PrivateAddress, _ server: ListingServer?, onFetch: () -> Void
    ) async throws -> ImportResult {
        if let known = try subscribedName(at: address.url) { return .known(name: known) }
        let task = driver.beginFetch(path: address.visible)
        defer { driver.finishFetch(task) }
        do {
            let result = try await add(
                address, title: item.title, fromServer: server?.address, reach: server?.space, onFetch: onFetch)
            return .added(name: result.podcast.name, episodes: result.podcast.episodes)
        } catch LibraryError.alreadySubscribed(let name) {
            return .known(name: name)
        }
    }

    /// Subscribes to a show without episodes, since its feed cannot be fetched now: the import does not omit a show
    /// only because its server is unavailable.
    private func subscribeUnfetched(
        _ item: ImportItem, _ address: PrivateAddress, _ failure: FetchFailure, _ server: ListingServer?
    ) throws -> ImportResult {
        var show = UnfetchedShow(
            url: address.url, title: item.title, link: item.link, error: failure.message, httpStatus: failure.status,
            next: nextRefresh(RefreshFacts(head: failure.head, failures: 1)))
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

// Restoring a lost library from the subscription list.
extension Subscriptions {
    /// Restores missing subscriptions when the daemon starts, from the subscription list: the OPML file that the daemon
    /// writes beside the library. Does so only if the library was restored from a backup or recreated, or if it is
    /// empty although no user has emptied it. Otherwise writes the list again. A list that cannot be read stays
    /// unchanged.
    ///
    /// All shows are inserted in one transaction, under their former names, so that none is lost if the daemon is
    /// killed meanwhile. Their feeds are fetched in the background; a feed whose fetch fails is left to the next
    /// refresh.
    ///
    /// - Parameter notify: receives a message for the next `podfs` command that connects.
    func restore(isRecovering: Bool, notify: (String) -> Void) throws {
        let path = configuration.paths.subscriptionsCopy
        let present = try library.subscriptions()
        // Restore only a recovered library, or an empty one that no user has emptied. A list with entries does not
        // prove a loss: the daemon may have been killed before rewriting the list.
        guard try isRecovering || present.isEmpty && !library.wasEmptied() else { return copies.copySubscriptions() }
        let saved: [OPML.Subscription]
        do {
            saved = try SubscriptionsCopy.read(path)
        } catch {
            // The file may be the only list of the subscriptions, so it is not replaced.
            let problem =
                "no shows were restored from the list of subscriptions: \(error); make the file readable, or correct "
                + "it, and pass it to podfs import"
            log.error("\(problem)")
            return notify(problem)
        }
        guard !saved.isEmpty else { return copies.copySubscriptions() }
        // Credentials are stored by show id. The new library may give the ids of lost shows to other shows, so remove
        // the credentials of all shows that are not present.
        try credentials.remove(except: Set(present.map(\.podcast)))
        let kept = try subscribeUnfetched(
            saved.map { subscription in
                let address = PrivateAddress(subscription.url)
                var show = UnfetchedShow(
                    url: address.url, name: subscription.text, title: subscription.title, link: subscription.link,
                    error: "the feed has not been fetched again since the library was recreated")
                show.tags = Tag.list(folders: subscription.folders)
                return (show, address.credentials)
            })
        let added = kept.filter(\.isNew).map(\.podcast)
        guard !added.isEmpty else { return }
        let count = "\(added.count) show\(added.count == 1 ? " is" : "s are")"
        log.warning("\(count) subscribed to again from \(path)")
        if !isRecovering { notify("the library was empty: \(count) subscribed to again from \(path)") }
        driver.startWork { [self] in _ = try await refresher.refresh(added) }
    }
}
