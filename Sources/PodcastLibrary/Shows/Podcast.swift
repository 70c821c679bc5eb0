import GRDB
package import PodcastProtocol
package import Transfers

/// A copy of a show's row.
///
/// Times are seconds since 1970-01-01 UTC, here and in all of this module.
package struct Podcast: Sendable, Equatable {
    /// The row id: positive, never reused for another show.
    package var id: ShowID
    /// The folder's name.
    package var name: String
    /// The feed's address.
    package var url: String
    package var title: String
    package var link: String?
    package var description: String?
    package var language: String?
    package var image: String?
    package var author: String?
    package var guid: String?
    /// `episodic` or `serial` (`itunes:type`), as the feed states it.
    package var type: String?
    package var explicit: Bool?
    /// `active`; `failed` after a failed refresh; `gone` if the feed is gone for good (410).
    package var state: String = Podcast.active
    /// The reason why the last refresh failed, one line; `nil` after a success.
    package var error: String?
    package var httpStatus: Int?
    package var etag: String?
    package var lastModified: String?
    /// The address after all redirects at the last refresh.
    package var finalURL: String?
    package var contentType: String?
    /// The time of the last successful refresh; a 304 counts as success.
    package var lastRefresh: Int64?
    /// The time of the next refresh; `nil` means as soon as possible, or never if `state` is `gone`.
    package var nextRefresh: Int64?
    /// The time at which the show was subscribed to. For a search result, the last time at which a search found the
    /// show or a user used it.
    package var created: Int64 = 0
    /// The time of the last change that users can see.
    package var changed: Int64 = 0
    /// Whether the show is an unsubscribed search result.
    package var ephemeral: Bool = false
    /// The number of episodes, without tombstones (the rows of removed episodes).
    package var episodes: Int = 0
    /// The number of completely cached episodes.
    package var cached: Int = 0
    /// Whether the feed is fetched with a user name and a password, which are stored elsewhere. The query strings of
    /// the show's URLs may then be secret as well.
    package var hasCredentials: Bool = false
    /// The number of items in the feed that are not episodes because they have no enclosure; `nil` if not counted yet.
    package var unplayable: Int?
    /// Whether the feed may never return.
    package var trouble = FeedTroubleRecord()
    /// The file extension of the cached cover; `nil` if no cover is in the cache.
    package var cover: String?
    /// The time at which the cover is to be fetched; `nil` if it is cached, or cannot be fetched.
    package var coverDue: Int64?

    /// The values of `state`.
    package static let active = "active"
    package static let failed = "failed"
    package static let gone = "gone"
}

/// The data of a show that a listing of the root folder needs.
package struct FolderEntry: Sendable, Equatable {
    package var id: ShowID
    package var name: String
    package var changed: Int64
    package var lastRefresh: Int64?
    /// The time at which the newest episode was published, or first seen if it is undated; `nil` without episodes.
    package var newest: Int64?
}

/// The facts of a show that decide the size and the times of files generated from its episodes. They come from indexes,
/// without reading the episodes.
package struct ShowTotals: Sendable, Equatable {
    /// The number of episodes.
    package var episodes: Int
    /// The number of bytes of the show's title, and of the episodes' names and titles.
    package var bytes: Int
    /// The time of the last change of the show, of an episode or of an alternate.
    package var changed: Int64
    /// The time of the newest episode, or of the last change of the show itself if that is later.
    package var newest: Int64
}

/// The facts that decide which requests a show may cause: whether a person entered its feed address, and from which
/// address space (the internet, the local network or this computer) the address and the feed come.
package struct ShowAccess: Sendable, Equatable {
    /// The feed's address.
    package var url: String
    /// The feed address that a person entered; `nil` if the address comes from a catalogue or a server.
    package var givenURL: String?
    /// The most private address space allowed for the feed: that of the server or catalogue where the feed was found,
    /// or a more public one to which the feed has moved. `nil` if it is unknown.
    package var reach: AddressSpace?
    /// The address space from which the feed was last fetched.
    package var space: AddressSpace?

    /// The most private address space allowed for URLs in the feed.
    package var linkReach: AddressSpace? { space ?? reach }
}

extension ShowAccess {
    /// The columns of `podcast p` that `init(_:from:)` reads.
    static let columns = "p.url, p.given_url, p.reach, p.space"

    init(_ row: Row, from first: Int) {
        url = row[first]
        givenURL = row[first + 1]
        reach = (row[first + 2] as Int?).flatMap(AddressSpace.init(rawValue:))
        space = (row[first + 3] as Int?).flatMap(AddressSpace.init(rawValue:))
    }
}

extension Library {
    /// Returns a show's `ShowAccess`; `nil` if there is no such show.
    package func showAccess(of podcast: ShowID) throws -> ShowAccess? {
        try row("SELECT \(ShowAccess.columns) FROM podcast p WHERE p.id = ?", [podcast]) { ShowAccess($0, from: 0) }
    }

    /// Records the feed address that a person entered again for a show, and `reach`, the address space of the server at
    /// this address (not of a server to which it redirects).
    package func setAccess(of podcast: ShowID, url: String, reach: AddressSpace?) throws {
        try write { db in try Self.setAccess(of: podcast, url: url, reach: reach, db) }
    }

    static func setAccess(of podcast: ShowID, url: String?, reach: AddressSpace?, _ db: Database) throws {
        try db.run("UPDATE podcast SET given_url = ?, reach = ? WHERE id = ?", [url, reach?.rawValue, podcast])
    }
}
