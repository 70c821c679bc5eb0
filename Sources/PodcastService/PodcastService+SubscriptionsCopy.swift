internal import Foundation
internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization

// The list of the subscriptions that is kept beside the library, and what is made of it when the library is lost.
extension PodcastService {
    // MARK: Writing

    /// The subscriptions have changed: their copy is written anew.
    func copySubscriptions() {
        subscriptionsCopy.isDue = true
        guard subscriptionsCopy.writer == nil else { return }
        subscriptionsCopy.writer = Task(executorPreference: WorkerPool.shared) { [weak self] in
            while await self?.writeSubscriptionsCopy() ?? false {
                await Timers.sleep(for: .seconds(SubscriptionsCopy.pause))
                if Task.isCancelled { break }
            }
            await self?.endSubscriptionsWriter()
        }
    }

    private func endSubscriptionsWriter() {
        subscriptionsCopy.writer = nil
        // Something came in between.
        if subscriptionsCopy.isDue { copySubscriptions() }
    }

    /// Writes what is due before the daemon leaves.
    func finishSubscriptionsCopy() async {
        subscriptionsCopy.writer?.cancel()
        await subscriptionsCopy.writer?.value
        while await writeSubscriptionsCopy() {}
    }

    /// - Returns: whether something was due.
    private func writeSubscriptionsCopy() async -> Bool {
        guard subscriptionsCopy.isDue else { return false }
        subscriptionsCopy.isDue = false
        do {
            let document = SubscriptionsCopy.document(try library.subscriptions(), credentials)
            try await Self.replace(configuration.places.subscriptionsCopy, with: document)
        } catch {
            log.error("the list of the subscriptions was not copied: \(error)")
        }
        return true
    }

    /// Away from the actor: it waits for the disk.
    @concurrent private static func replace(_ path: String, with document: [UInt8]) async throws {
        if let old = FileManager.default.contents(atPath: path), old.elementsEqual(document) { return }
        try AtomicFile.write(document, to: path, mode: 0o600, isSoleWriter: true)
    }

    // MARK: Reading

    /// At the start: a library that has come back from a backup, or has begun anew, gets the subscriptions that it lacks.
    ///
    /// They are there at once, under the names that they had, and in one transaction: a daemon that is killed meanwhile
    /// loses none. Their feeds are fetched in the background; those that fail are left to the next refresh.
    func restoreSubscriptions(isRecovering: Bool) throws {
        let path = configuration.places.subscriptionsCopy
        let present = try library.subscriptions()
        // Empty, and not emptied. That the copy is not empty does not tell: the daemon may have been killed before it was
        // written anew.
        guard try isRecovering || present.isEmpty && !library.wasEmptied() else { return copySubscriptions() }
        let saved = SubscriptionsCopy.read(path)
        guard !saved.isEmpty else { return copySubscriptions() }
        // Ids of a library that has gone mean nothing.
        try credentials.keep(only: Set(present.map(\.podcast)))
        let kept = try keep(
            saved.map { subscription in
                let address = PrivateAddress(subscription.url)
                let show = UnfetchedShow(
                    url: address.url, name: subscription.text, title: subscription.title, link: subscription.link,
                    error: "the feed has not been fetched again since the library was made anew")
                return (show, address.credentials)
            })
        let added = kept.compactMap { show in
            if case .added(let podcast, _) = show { podcast } else { nil }
        }
        guard !added.isEmpty else { return }
        let count = "\(added.count) show\(added.count == 1 ? " is" : "s are")"
        log.warning("\(count) subscribed to again from \(path)")
        if !isRecovering {
            notice.withLock { notice in
                if notice == nil { notice = "the library was empty: \(count) subscribed to again from \(path)" }
            }
        }
        commandsUnderWay += 1
        startTask { service in
            _ = try? await service.refresh(added)
            service.commandsUnderWay -= 1
            service.considerIdle()
        }
    }
}
