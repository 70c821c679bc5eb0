/// How far the download of a file is, as `user.podfs.state` shows it.
package enum TransferState: String, Sendable, Codable, Equatable {
    /// Nobody has asked for it; no task.
    case remote
    /// A task waits for a connection, or for the time of its next try.
    case queued
    case running
    /// A person has suspended it: background filling rests, a reader still gets what it asks for. Or there is no space
    /// for what is to come.
    case suspended
    /// Every byte is here, checked and hashed.
    case cached
    case failed
}
