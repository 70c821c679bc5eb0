/// A request to start synchronization: the server, the account and its password.
package struct SyncLoginRequest: Sendable, Codable, Equatable, CustomStringConvertible {
    package var url: String
    package var user: String?
    package var password: String
    package var device: String?
    /// The server's API, `gpodder` or `nextcloud`; `nil` to detect it.
    package var kind: String?
    package var allowsHTTP: Bool

    package init(
        url: String, user: String?, password: String, device: String? = nil, kind: String? = nil,
        allowsHTTP: Bool = false
    ) {
        self.url = url
        self.user = user
        self.password = password
        self.device = device
        self.kind = kind
        self.allowsHTTP = allowsHTTP
    }

    /// A description without the password, since values are printed in logs.
    package var description: String { "login" }
}

/// The state of the synchronization; empty without an account.
package struct SyncStatus: Sendable, Codable, Equatable {
    /// The state of the exchange with the server.
    package enum State: String, Sendable, Codable {
        /// There is no account.
        case none
        case idle, running, failed
        /// Synchronization has stopped, because the server rejects the password.
        case stopped
    }

    package var state = State.none
    package var server: String?
    package var kind: String?
    package var user: String?
    package var device: String?
    /// The error of the last synchronization, one line.
    package var error: String?
    /// The times of the last and the next synchronization, in seconds since 1970 UTC.
    package var lastSync: Int64?
    package var nextSync: Int64?
    /// The numbers of unsent changes of subscriptions and of unsent episode actions.
    package var waitingSubscriptions = 0
    package var waitingActions = 0
    /// The number of stored playback states that wait for their episodes: these are not in the library yet.
    package var parkedActions = 0

    package init() {}
}
