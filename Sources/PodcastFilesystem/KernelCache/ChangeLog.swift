internal import PodcastProtocol
internal import Transfers

/// A log of the changes that the daemon reports, numbered in their order. It shows whether data read earlier is still
/// current.
struct ChangeLog: Sendable {
    /// The maximum number of episodes recorded individually. A refresh of a feed with 100,000 items can
    /// change all of them at once.
    static let capacity = 4_096

    /// The number of the last change.
    private(set) var last: UInt64 = 0
    /// The number of each episode's last change.
    private var episodes: [EpisodeID: UInt64] = [:]
    /// The last change whose individual record was dropped: any episode may have changed up to this change.
    private var dropped: UInt64 = 0

    /// Records a change that is not specific to an episode.
    mutating func add() { last += 1 }

    mutating func add(_ episode: EpisodeID) {
        last += 1
        if episodes.count >= Self.capacity {
            dropped = last - 1
            episodes = [:]
        }
        episodes[episode] = last
    }

    func hasChanged(_ episode: EpisodeID, since change: UInt64) -> Bool { episodes[episode, default: dropped] > change }
}
