internal import PodcastProtocol
internal import Transfers

/// A client's session, and the tasks that the client has created.
struct ClientSession: Sendable, Equatable {
    /// The session identifier of downloads that people or readers have started.
    static let common = "podfs"
    /// The session identifier of downloads that end with their client; they do not survive the daemon.
    static let clientBound = ""

    let configuration: SessionConfiguration
    /// Tasks that the client has created and not yet resumed.
    var created: Set<MediaID> = []
    /// Tasks that the client has resumed and that are cancelled when it disconnects.
    var begun: Set<MediaID> = []
    /// Downloads that the client suspends, with the number of suspensions minus resumptions. A suspension by the user,
    /// which remains when the clients have disconnected, is `RegisteredDownload.isSuspended`.
    var held: [MediaID: Int] = [:]

    /// The session identifier that the library stores with the client's tasks.
    var identifier: String {
        if case .background(let identifier) = configuration { identifier } else { Self.clientBound }
    }
}

/// The identifier of a client's connection, never reused while the daemon runs.
struct ClientID: Identifier {
    let rawValue: Int64
}
