package import PodcastProtocol

extension Library {
    /// Returns the episodes to which an action on a show applies. If `podcast` is `nil`, the action is on all shows.
    ///
    /// Suspending, resuming and cancelling apply only to episodes with a task: suspending a show must not create three
    /// hundred suspended downloads, and resuming a show must not create three hundred running ones.
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
