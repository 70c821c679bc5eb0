package import PodcastProtocol
package import TransferCore

/// The session of a client, and its own tasks.
package struct ClientSession: Sendable, Equatable {
    /// The session of downloads that nobody's program has begun: people's, and readers'.
    package static let common = "podfs"
    /// Of downloads that end with their clients; they are not carried over to another run.
    package static let passing = ""

    package let configuration: SessionConfiguration
    /// Tasks that it has created and not begun, and when; since 1970.
    package internal(set) var created: [MediaID: Duration] = [:]
    /// Tasks that it has begun and that end with it.
    package internal(set) var begun: Set<MediaID> = []

    /// The identifier of its tasks in the library.
    package var identifier: String {
        if case .background(let identifier) = configuration { identifier } else { Self.passing }
    }
}
