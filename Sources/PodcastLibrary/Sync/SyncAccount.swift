package import PodcastProtocol

/// The sync server's account, and the state of the synchronization.
package struct SyncAccount: Sendable, Equatable {
    /// The API of a server.
    package enum Kind: String, Sendable, CaseIterable {
        /// The gPodder API, version 2.
        case gpodder
        /// Nextcloud's gpoddersync.
        case nextcloud
    }

    /// The server's address without user info, and without a slash at its end.
    package var url: String
    package var user: String
    package var device: String
    package var kind: Kind
    /// The timestamp of the server's last response about subscriptions; 0 if there was none.
    package var subscriptionsSince: Int64 = 0
    /// The timestamps of the server's last responses about episodes.
    package var episodes = SyncWindow(last: 0, lastFull: nil)
    /// The time of the last successful synchronization by the local clock.
    package var lastSync: Int64?
    /// The time of the next scheduled synchronization by the local clock; `nil` if none is scheduled.
    package var nextSync: Int64?
    /// The earliest time of the next request, if the server has set one.
    package var heldUntil: Int64?
    /// The number of consecutive failures.
    package var failures = 0
    /// The reason why the last synchronization failed or was cancelled, one line; `nil` after a success.
    package var error: String?
    /// Whether the server has rejected the credentials. If so, nothing is sent until the next login.
    package var isStopped = false

    package init(url: String, user: String, device: String, kind: Kind) {
        self.url = url
        self.user = user
        self.device = device
        self.kind = kind
    }
}

/// A change of a subscription that the server has not confirmed.
package struct PendingSubscription: Sendable, Equatable {
    package var url: String
    /// The show, which may no longer exist.
    package var podcast: ShowID
    /// Whether the show is now subscribed.
    package var subscribed: Bool
    /// The value of `subscribed` in a request to which no response has arrived: the server may have accepted it. `nil`
    /// if there is no such request.
    package var sent: Bool?
    /// A serial number that distinguishes successive changes of the subscription to one address.
    package var serial: Int64 = 1
}

/// An address in the server's list.
package struct ServerFeed: Sendable, Equatable {
    package var url: String
    package var subscribed: Bool
    /// The local show with this address, which may no longer exist.
    package var podcast: ShowID?

    package init(url: String, subscribed: Bool, podcast: ShowID? = nil) {
        self.url = url
        self.subscribed = subscribed
        self.podcast = podcast
    }
}

/// The server's list, the local subscriptions, and the pending changes.
package struct SubscriptionState: Sendable, Equatable {
    package var server: [ServerFeed]
    package var local: [Subscription]
    package var pending: [PendingSubscription]
}

/// An action that the server has not confirmed.
package struct PendingAction: Sendable, Equatable {
    package var episode: EpisodeID
    package var action: SyncAction
}

/// The counts of changes waiting to be sent, and of *parked* states: playback states that the server has sent for
/// episodes that are not in the library.
package struct SyncQueue: Sendable, Equatable {
    package var subscriptions = 0
    package var actions = 0
    /// The number of parked states.
    package var parked = 0
    /// The time of the oldest unsent change by the local clock; `nil` if there is none.
    package var oldest: Int64?
    /// The time of the newest unsent change.
    package var newest: Int64?
}
