/// A server to be kept alike with, and whose account there.
package struct SyncLoginRequest: Sendable, Codable, Equatable, CustomStringConvertible {
    package var url: String
    package var user: String?
    package var password: String
    package var device: String?
    /// `gpodder` or `nextcloud`; `nil` finds out.
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

    /// Without the password: values are printed in logs.
    package var description: String { "login" }
}

/// How it stands with the sync server. All is absent when nobody has logged in.
package struct SyncStatus: Sendable, Codable, Equatable {
    package enum State: String, Sendable, Codable {
        /// Nobody has logged in.
        case none
        case idle, running, failed
        /// The server refuses the password.
        case stopped
    }

    package var state = State.none
    package var server: String?
    package var kind: String?
    package var user: String?
    package var device: String?
    /// Why the last exchange failed, one line.
    package var error: String?
    /// Seconds since 1970 UTC.
    package var lastSync: Int64?
    package var nextSync: Int64?
    /// What the server has not been told of yet.
    package var waitingSubscriptions = 0
    package var waitingActions = 0
    /// What was heard of episodes that are not here.
    package var parkedActions = 0

    package init() {}
}
