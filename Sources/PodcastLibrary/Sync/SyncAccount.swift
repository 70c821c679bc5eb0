package import TransferCore

/// The server that this installation is kept alike with others through, and how it stands with it.
package struct SyncAccount: Sendable, Equatable {
    /// What the server speaks.
    package enum Kind: String, Sendable, CaseIterable {
        /// The gPodder API, version 2.
        case gpodder
        /// Nextcloud's gpoddersync.
        case nextcloud
    }

    /// Without user info, and without a slash at its end.
    package var url: String
    package var user: String
    package var device: String
    package var kind: Kind
    /// Timestamps of the server's answers.
    package var subscriptionsSince: Int64 = 0
    package var episodes = SyncWindow(last: 0, lastFull: nil)
    /// By the local clock: when all went well last, and when it is tried next.
    package var lastSync: Int64?
    package var nextSync: Int64?
    /// Until when the server wants to be left alone.
    package var heldUntil: Int64?
    /// In a row.
    package var failures = 0
    /// What was wrong the last time, one line.
    package var error: String?
    /// The server refuses name and password: nothing is sent until somebody logs in again.
    package var isStopped = false

    package init(url: String, user: String, device: String, kind: Kind) {
        self.url = url
        self.user = user
        self.device = device
        self.kind = kind
    }
}

/// A subscription or its end that the server has not been told of.
package struct PendingSubscription: Sendable, Equatable {
    package var url: String
    /// The show, which may be gone.
    package var podcast: ShowID
    package var subscribed: Bool
    /// What has been sent of it without an answer: the server may have taken it.
    package var sent: Bool?
    /// Tells one change of an address from a later one.
    package var serial: Int64

    package init(url: String, podcast: ShowID, subscribed: Bool, sent: Bool? = nil, serial: Int64 = 1) {
        self.url = url
        self.podcast = podcast
        self.subscribed = subscribed
        self.sent = sent
        self.serial = serial
    }
}

/// An address as the server has it.
package struct ServerFeed: Sendable, Equatable {
    package var url: String
    package var subscribed: Bool
    /// The show that it stands for here.
    package var podcast: ShowID?

    package init(url: String, subscribed: Bool, podcast: ShowID? = nil) {
        self.url = url
        self.subscribed = subscribed
        self.podcast = podcast
    }
}

/// Both sides' subscriptions.
package struct SubscriptionBook: Sendable, Equatable {
    package var server: [ServerFeed]
    package var local: [Subscription]
    package var pending: [PendingSubscription]

    package init(server: [ServerFeed], local: [Subscription], pending: [PendingSubscription]) {
        self.server = server
        self.local = local
        self.pending = pending
    }
}

/// An action that the server has not been told of.
package struct PendingAction: Sendable, Equatable {
    /// The row.
    package var episode: EpisodeID
    package var action: SyncAction

    package init(episode: EpisodeID, action: SyncAction) {
        self.episode = episode
        self.action = action
    }
}

/// What waits to be sent, and what waits for its episode to appear.
package struct SyncQueue: Sendable, Equatable {
    package var subscriptions: Int
    package var actions: Int
    package var parked: Int
    /// Since when, by the local clock; `nil` when nothing waits to be sent.
    package var oldest: Int64?
    /// The latest of them.
    package var newest: Int64?

    package init(subscriptions: Int, actions: Int, parked: Int, oldest: Int64?, newest: Int64?) {
        self.subscriptions = subscriptions
        self.actions = actions
        self.parked = parked
        self.oldest = oldest
        self.newest = newest
    }
}
