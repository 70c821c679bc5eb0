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
            if episode.isStream { .stream } else if episode.complete { .cached } else {
                task?.state ?? episode.download?.state ?? .remote
            }
    }

    /// The progress in tenths of a percent, rounded down; 1,000 only for a complete episode.
    package var tenths: Int64 {
        if state == .cached { return 1_000 }
        guard let expected, expected > 0 else { return 0 }
        return min(999, max(0, WholeNumber.of(Double(received) * 1_000 / Double(expected))))
    }
}
