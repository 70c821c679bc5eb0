internal import Logging
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol

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
        startTask { [self] in
            await driver.underWay { _ = try? await refresher.refresh(added) }
        }
    }
}
