/// The state of a task and of its file. Its raw values appear in the protocol and its events, in the output of
/// commands, in JSON and in `user.podfs.state`.
package enum TaskState: String, Sendable, Codable, Equatable {
    /// There is no task, and the file is not completely cached. The final event of a cancelled download has this state
    /// too, and so has that of a finished fetch of a feed, a search or an asset.
    case remote
    /// The task waits for a connection, for space in the cache, for its next retry, or until automatic tasks may run.
    case queued
    case running
    /// A person or a client has suspended the task: the download in the background pauses, but reads are still served.
    /// This is also the state while the disk is full; reads of missing bytes then fail.
    case suspended
    /// Every byte of a download is present, synced and hashed.
    case cached
    case failed
    /// The complete file is in the archive folder.
    case archived
    /// The complete file is in the archive folder, which cannot be read now.
    case offline
    /// The file is the playlist of a stream: players fetch the media themselves, and nothing is downloaded.
    case stream
    /// The server has stored all of an upload.
    case completed
    /// The user has cancelled an upload.
    case cancelled

    /// The states that a status counts, active ones first.
    package static let counted: [TaskState] = [.running, .queued, .suspended, .failed]

    /// Whether the complete file exists, in the cache or in the archive.
    package var isWhole: Bool { self == .cached || self == .archived || self == .offline }

    /// Whether a task in this state is running or queued.
    package var isActive: Bool { self == .running || self == .queued }
}

/// The priority of a transfer; higher ones go first.
package enum TransferPriority: Int, Sendable, Codable, Comparable, CaseIterable {
    /// Not requested: an automatic download of a new episode. Runs only while the network link and the power supply
    /// permit it.
    case automatic
    /// Requested by a person, or by a player's read.
    case asked

    package static func < (one: TransferPriority, other: TransferPriority) -> Bool { one.rawValue < other.rawValue }
}
