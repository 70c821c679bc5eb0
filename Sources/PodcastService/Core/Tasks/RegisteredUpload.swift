package import Platform
package import PodcastProtocol
package import Transfers

/// An upload as clients see it. It combines the upload's row in the library with the engine's last report.
package struct RegisteredUpload: Sendable, Equatable {
    package let id: TaskID
    package let title: String
    /// The size of the media in bytes.
    package let size: Int64
    /// Whether a person has suspended the upload. The library stores this, so that it survives a restart.
    package var isSuspended: Bool = false
    package let created: WallTime
    /// The number of bytes on the server, as recorded in the library.
    package internal(set) var bytesOnServer: Int64 = 0
    /// The error message if the upload has failed, as recorded in the library.
    package internal(set) var failure: String?
    /// The engine's last report; `nil` before the first.
    package var snapshot: UploadSnapshot?

    package var state: TaskState {
        snapshot?.state ?? (failure != nil ? .failed : isSuspended ? .suspended : .queued)
    }

    /// Whether the upload is running or queued.
    var isUnderWay: Bool { state == .running || state == .queued }

    /// Whether the upload is neither suspended nor failed.
    var canProceed: Bool { state != .suspended && state != .failed }

    package var info: TaskInfo {
        TaskInfo(
            id: id, kind: .upload, path: title, episode: nil, state: state, received: snapshot?.sent ?? bytesOnServer,
            expected: size, rate: snapshot?.rate, error: snapshot?.error?.message ?? failure, started: created.seconds)
    }
}
