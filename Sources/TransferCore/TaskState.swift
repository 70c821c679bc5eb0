/// The state of a task, and of the file it transfers: on the wire, in events, on screens, in JSON and in `user.podfs.state`.
package enum TaskState: String, Sendable, Codable, Equatable {
    /// No task, and the file is not complete in the cache. Also the state in the last event of a cancelled download and of
    /// a finished feed task.
    case remote
    /// The task waits for a connection, for space in the cache, or for the time of its next try.
    case queued
    case running
    /// A person has suspended the task: background filling stops, a reader still gets what it asks for. Or the disk is full.
    case suspended
    /// Every byte of a download is here, checked and hashed.
    case cached
    case failed
    /// The server has all of an upload.
    case completed
    /// A person has cancelled an upload.
    case cancelled
}
