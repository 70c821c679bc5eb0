package import TransferCore

/// The data of the response that delivered a feed.
package struct FeedResponse: Sendable, Equatable {
    /// The address after all redirects.
    package var finalURL: String
    package var status: Int
    package var etag: String?
    package var lastModified: String?
    package var contentType: String?
    /// The space of the address that responded.
    package var space: AddressSpace?
    /// The space of the requested address, before redirects.
    package var reach: AddressSpace?
    /// The scheduled time of the next refresh; `nil` leaves it unchanged.
    package var nextRefresh: Int64?
    /// Whether the whole document was read. Items missing from a partial document have not left the feed.
    package var isWhole: Bool
    /// The interval in seconds that the document asks for.
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

/// The result of a merge.
package struct MergeResult: Sendable, Equatable {
    package var podcast: Podcast
    /// New episodes, oldest first.
    package var inserted: [EpisodeID]
    /// Known episodes with any change, including media URLs and a return to the feed.
    package var updated: [EpisodeID]
    /// Episodes that left the feed. They stay in the library.
    package var unlisted: [EpisodeID]
    /// The number of items skipped because they have no enclosure.
    package var skipped: Int
}
