internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// An upload as clients see it: its row in the library, and the engine's last report.
package struct RegisteredUpload: Sendable, Equatable {
    var row: Upload
    /// The engine's last report; `nil` before the first.
    var snapshot: UploadSnapshot?

    var id: TaskID { row.id }

    var state: TaskState { snapshot?.state ?? row.state }

    /// Whether the upload is running or queued.
    var isUnderWay: Bool { state == .running || state == .queued }

    /// Whether the upload is neither suspended nor failed.
    var canProceed: Bool { state != .suspended && state != .failed }

    var info: TaskInfo {
        TaskInfo(
            id: id, kind: .upload, path: row.title, episode: nil, state: state,
            received: snapshot?.sent ?? row.progress.offset, expected: row.size, rate: snapshot?.rate,
            error: snapshot?.error?.message ?? row.error, started: row.created)
    }
}
