package import PodcastProtocol
package import Transfers

/// The facts about a fetched feed that a merge records in addition to the feed's content.
package struct FeedResponse: Sendable, Equatable {
    /// The address after all redirects.
    package var finalURL: String
    package var status: Int
    package var etag: String?
    package var lastModified: String?
    package var contentType: String?
    /// The address space (public, local or loopback) of the server that responded, after redirects.
    package var space: AddressSpace?
    /// The address space of the server that was contacted first, before redirects.
    package var reach: AddressSpace?
    /// The scheduled time of the next refresh, in seconds since 1970; `nil` for as soon as possible. In a delta, `nil`
    /// keeps the time already scheduled.
    package var nextRefresh: Int64?
    /// Whether the feed contains only the items that are new since the last whole document (226, RFC 3229). A delta
    /// adds and updates episodes. The validators and the show's data from the whole document stay.
    package var isDelta: Bool { status == 226 }
    /// Whether all items of the feed were read. If not, missing items are not recorded as having left the feed.
    package var isWhole: Bool
    /// The refresh interval in seconds that the feed asks for.
    package var updateInterval: Int64?

    package init(
        finalURL: String, status: Int, etag: String? = nil, lastModified: String? = nil, contentType: String? = nil,
        nextRefresh: Int64? = nil, isWhole: Bool = true, updateInterval: Int64? = nil,
        space: AddressSpace? = nil, reach: AddressSpace? = nil
    ) {
        self.space = space
        self.reach = reach
        self.updateInterval = updateInterval
        self.finalURL = finalURL
        self.status = status
        self.etag = etag
        self.lastModified = lastModified
        self.contentType = contentType
        self.nextRefresh = nextRefresh
        self.isWhole = isWhole
    }
}

/// The result of merging a fetched feed into the library.
package struct MergeResult: Sendable, Equatable {
    package var podcast: Podcast
    /// New episodes, oldest first.
    package var inserted: [EpisodeID]
    /// Known episodes with any change. A new media URL and a return to the feed count as changes.
    package var updated: [EpisodeID]
    /// Episodes that left the feed. They stay in the library.
    package var unlisted: [EpisodeID]
    /// The number of items skipped because they have no enclosure.
    package var skipped: Int
}
