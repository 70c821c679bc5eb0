package import PodcastLibrary
package import PodcastProtocol
package import TransferCore

extension Library {
    /// The episodes that an action on a whole show means, or, with `nil`, on everything.
    ///
    /// What has no task is not suspended, resumed or cancelled with its folder: a person who halts a show does not ask
    /// for three hundred suspended downloads, nor for three hundred downloads when it is to go on.
    package func episodes(of podcast: ShowID?, for action: TaskAction) throws -> [EpisodeID] {
        switch action {
        case .resume, .suspend, .cancel: return try episodesInTransfer(of: podcast)
        case .evict: return try episodesCached(of: podcast)
        case .download, .pin, .unpin:
            let shows = try podcast.map { [$0] } ?? folders().map(\.id)
            return try shows.flatMap { try entries(of: $0).map(\.id) }
        }
    }
}
