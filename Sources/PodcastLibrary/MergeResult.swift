package import TransferCore

/// What the answer that carried a feed said beside the feed.
package struct FeedResponse: Sendable, Equatable {
    /// Where the redirects ended.
    package var finalURL: String
    package var status: Int
    package var etag: String?
    package var lastModified: String?
    package var contentType: String?
    /// Of the address that answered.
    package var space: AddressSpace?
    /// Of the address that was asked first, before redirects.
    package var reach: AddressSpace?
    /// When the feed is due again, as the schedule decided; `nil` leaves it undecided.
    package var nextRefresh: Int64?
    /// Whether the document was read to its end. Items missing from a part of a document have not left the feed.
    package var isWhole: Bool
    /// Seconds between two looks that the document asks for.
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

/// What a merge did.
package struct MergeResult: Sendable, Equatable {
    package var podcast: Podcast
    /// New episodes, oldest first.
    package var inserted: [EpisodeID]
    /// Known episodes of which anything changed, media URLs and a return to the feed included.
    package var updated: [EpisodeID]
    /// Episodes that left the feed. They stay in the library.
    package var unlisted: [EpisodeID]
    /// Items passed over because they have no enclosure.
    package var skipped: Int
}
