internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

extension Library {
    /// Merges a feed outside the caller's actor: inserting the rows of a large feed takes a second, and other clients
    /// must not wait. `now` is in seconds since 1970.
    @concurrent func mergeConcurrently(
        _ feed: Feed, into podcast: ShowID, _ response: FeedResponse, template: NameTemplate, now: Int64
    ) async throws -> MergeResult {
        try merge(feed: feed, into: podcast, response: response, template: template, now: now)
    }
}
