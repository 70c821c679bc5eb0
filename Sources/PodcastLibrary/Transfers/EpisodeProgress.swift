internal import Platform
package import PodcastProtocol
package import Transfers

/// The state and the progress of an episode, according to its row and its task.
package struct EpisodeProgress: Sendable {
    package let state: TaskState
    /// The number of cached bytes.
    package let received: Int64
    /// The size in bytes; `nil` if it is not known.
    package let expected: Int64?

    /// - Parameter task: The daemon's description of the episode's task; `nil` if it has none.
    package init(_ episode: Episode, _ task: TaskInfo?) {
        let size = episode.size
        received = episode.complete ? size.bytes : max(task?.received ?? 0, episode.cachedBytes)
        expected = task?.expected ?? (size.source == .unknown ? nil : size.bytes)
        state =
            if episode.isStream {
                .stream
            } else if let archive = episode.archive, archive.isServed {
                archive.folderProblem == nil ? .archived : .offline
            } else if episode.complete {
                .cached
            } else {
                task?.state ?? episode.download?.state ?? Self.idleState(of: episode)
            }
    }

    /// Returns the state of an incomplete episode without a task.
    private static func idleState(of episode: Episode) -> TaskState {
        guard let archive = episode.archive else { return .remote }
        if archive.defect != nil { return .failed }
        return archive.folderProblem == nil ? .remote : .offline
    }

    /// Returns the reason why an archived episode is not served from the archive; `nil` for others.
    package static func archiveProblem(of episode: Episode) -> String? {
        episode.archive.flatMap { archive in
            archive.defect.map { "the archive's \(archive.path): \($0)" } ?? archive.folderProblem
        }
    }

    /// The progress in tenths of a percent, rounded down; 1,000 only for a complete episode.
    package var tenths: Int64 {
        if state.isWhole, received == expected { return 1_000 }
        guard let expected, expected > 0 else { return 0 }
        return min(999, max(0, WholeNumber.of(Double(received) * 1_000 / Double(expected))))
    }
}
