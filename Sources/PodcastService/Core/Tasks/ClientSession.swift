package import Platform
package import PodcastProtocol
package import Transfers

/// A client's session, and the tasks that the client has created.
package struct ClientSession: Sendable, Equatable {
    /// The session identifier of downloads that people or readers have started.
    package static let common = "podfs"
    /// The session identifier of downloads that end with their client; they do not survive the daemon.
    package static let clientBound = ""

    package let configuration: SessionConfiguration
    /// Tasks that the client has created and not yet resumed, with the time of creation.
    package internal(set) var created: [MediaID: WallTime] = [:]
    /// Tasks that the client has resumed and that are cancelled when it disconnects.
    package internal(set) var begun: Set<MediaID> = []

    /// The session identifier that the library stores with the client's tasks.
    package var identifier: String {
        if case .background(let identifier) = configuration { identifier } else { Self.clientBound }
    }
}

/// The identifier of a client's connection, never reused while the daemon runs.
package struct ClientID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}
