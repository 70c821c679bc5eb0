package import TransferCore

/// A show as the library keeps it. A value: a copy of a row, which does not change with it.
///
/// Times are seconds since 1970-01-01 UTC, here and in all of this module.
package struct Podcast: Sendable, Equatable {
    /// The row id: positive, never given to another show.
    package var id: ShowID
    /// The name of the folder.
    package var name: String
    /// The address of the feed, as it is to be asked for.
    package var url: String
    package var title: String
    package var link: String?
    package var description: String?
    package var language: String?
    package var image: String?
    package var author: String?
    package var guid: String?
    package var type: String?
    package var explicit: Bool?
    /// `active`; `failed` when the last refresh did not succeed; `gone` when the server said 410.
    package var state: String
    /// Why the last refresh failed, one line.
    package var error: String?
    package var httpStatus: Int?
    package var etag: String?
    package var lastModified: String?
    /// Where the redirects ended at the last refresh.
    package var finalURL: String?
    package var contentType: String?
    /// The last refresh that succeeded; a 304 is a success.
    package var lastRefresh: Int64?
    package var nextRefresh: Int64?
    package var created: Int64
    /// When something that users can see changed.
    package var changed: Int64
    /// Found by a search and not subscribed.
    package var ephemeral: Bool
    package var episodes: Int
    /// Episodes that are complete in the cache.
    package var cached: Int
    /// It is fetched with a name and a password, which are kept elsewhere. Queries of its addresses may be as secret.
    package var hasCredentials: Bool

    package init(
        id: ShowID, name: String, url: String, title: String, link: String? = nil, description: String? = nil,
        language: String? = nil, image: String? = nil, author: String? = nil, guid: String? = nil,
        type: String? = nil, explicit: Bool? = nil, state: String = Podcast.active, error: String? = nil,
        httpStatus: Int? = nil, etag: String? = nil, lastModified: String? = nil, finalURL: String? = nil,
        contentType: String? = nil, lastRefresh: Int64? = nil, nextRefresh: Int64? = nil, created: Int64 = 0,
        changed: Int64 = 0, ephemeral: Bool = false, episodes: Int = 0, cached: Int = 0,
        hasCredentials: Bool = false
    ) {
        self.id = id
        self.name = name
        self.url = url
        self.title = title
        self.link = link
        self.description = description
        self.language = language
        self.image = image
        self.author = author
        self.guid = guid
        self.type = type
        self.explicit = explicit
        self.state = state
        self.error = error
        self.httpStatus = httpStatus
        self.etag = etag
        self.lastModified = lastModified
        self.finalURL = finalURL
        self.contentType = contentType
        self.lastRefresh = lastRefresh
        self.nextRefresh = nextRefresh
        self.created = created
        self.changed = changed
        self.ephemeral = ephemeral
        self.episodes = episodes
        self.cached = cached
        self.hasCredentials = hasCredentials
    }

    /// The values of `state`.
    package static let active = "active"
    package static let failed = "failed"
    package static let gone = "gone"
}

/// What a listing of the root folder needs of a show.
package struct FolderEntry: Sendable, Equatable {
    package var id: ShowID
    package var name: String
    package var changed: Int64
    package var lastRefresh: Int64?
    /// When the newest episode was published, or first seen when it has no date; `nil` without episodes.
    package var newest: Int64?

    package init(id: ShowID, name: String, changed: Int64, lastRefresh: Int64? = nil, newest: Int64? = nil) {
        self.id = id
        self.name = name
        self.changed = changed
        self.lastRefresh = lastRefresh
        self.newest = newest
    }
}
