import GRDB
internal import Platform
package import PodcastFeed
package import PodcastProtocol
package import Transfers

extension Library {
    /// Adds shows with the episodes of their feeds, in one transaction. A rejected show does not affect the others.
    ///
    /// If the library has a search result with the same address, that result becomes the subscription. Its ids and its
    /// cached bytes stay.
    ///
    /// - Returns: A result for each of `shows`, in the same order. A show is rejected with `alreadySubscribed`,
    ///   `invalidName` or `nameTaken`.
    package func subscribe(_ shows: [ArrivingShow], template: NameTemplate) throws -> [Result<MergeResult, any Error>] {
        try write { db in try shows.map { show in try Self.add(show, template, db) } }
    }

    /// Adds a show. If the show is rejected, returns the reason before it has written anything. Throws only errors of
    /// the database.
    private static func add(
        _ show: ArrivingShow, _ template: NameTemplate, _ db: Database
    ) throws -> Result<MergeResult, any Error> {
        let subscribed = try String.fetchOne(
            db, "SELECT name FROM podcast WHERE url IN (?, ?) AND ephemeral = 0", [show.url, show.response.finalURL])
        if let subscribed { return .failure(LibraryError.alreadySubscribed(name: subscribed)) }
        let title = title(show.feed.title, url: show.url)
        var folder = template.folder(title)
        var names = UniqueNames(taken: UniqueNames.reservedInRoot)
        if let name = show.name {
            do {
                try validate(folder: name)
            } catch {
                return .failure(error)
            }
            folder = name
            if !show.ephemeral, try names.isTaken(folder) || isTaken(FileName.folded(folder), db) {
                return .failure(LibraryError.nameTaken(folder))
            }
        } else if !show.ephemeral {
            folder = try names.claim(folder) { try isTaken($0, db) }
        }

        let id = try PodcastSQL.put(show.url, title, folder: folder, ephemeral: show.ephemeral, now: show.now, db)
        if !show.ephemeral {
            try setAccess(of: id, url: show.givenURL, reach: show.reach ?? show.response.reach, db)
        }
        if let server = show.server { try recordArrival(of: id, from: server, db) }
        var merge = Merge(db: db, podcast: id, template: template, now: show.now)
        return .success(try merge.run(show.feed, show.items, show.response))
    }

    /// Whether the folder of a subscribed show or of a view, or a folder in the table `root_folder`, has this folded
    /// name.
    static func isTaken(_ folded: String, _ db: Database) throws -> Bool {
        try isShow(folded, db) || isOtherFolder(folded, db)
    }

    /// Whether a subscribed show's folder has this folded name.
    ///
    /// - Parameter show: A show to ignore.
    static func isShow(_ folded: String, besides show: ShowID? = nil, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, "SELECT 1 FROM podcast WHERE folded = ? AND ephemeral = 0 AND id IS NOT ?", [folded, show]) ?? false
    }

    /// Whether a view's folder, or a folder in the table `root_folder` (tags, tagged files), has this folded name.
    static func isOtherFolder(_ folded: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, "SELECT 1 FROM view WHERE folded = ?1 UNION SELECT 1 FROM root_folder WHERE folded = ?1", [folded])
            ?? false
    }

    /// Updates a show from its current feed, in one transaction that writes only the show and its changed episodes.
    ///
    /// - Throws: `noSuchPodcast`.
    package func merge(
        feed: Feed, into podcast: ShowID, response: FeedResponse, template: NameTemplate, now: Int64
    ) throws -> MergeResult {
        let items = Merge.Items(feed)
        return try write { db in
            var merge = Merge(db: db, podcast: podcast, template: template, now: now)
            return try merge.run(feed, items, response)
        }
    }

    /// Returns the show's title or, if the feed states none, the host of its address.
    static func title(_ title: String?, url: String) -> String {
        let title = FileName.trimmedSpace(title ?? "")
        if !title.isEmpty { return title }
        return (try? WebAddress(url))?.hostAndPort ?? FileName.untitled
    }
}

/// A show to be added, with its feed.
package struct ArrivingShow: Sendable {
    let url: String
    let feed: Feed
    /// The folder's name, used unchanged except for normalization to NFC; `nil` derives one from the title.
    let name: String?
    let response: FeedResponse
    let now: Int64
    /// Whether this is a search result. If the same show is found again, that is not an error: it is renewed.
    let ephemeral: Bool
    /// The show's address as the sync server has sent it: the subscription is then not sent back. `nil` if the server
    /// did not send it.
    let server: String?
    /// The address that a person entered; `nil` if the address comes from a catalogue or a server.
    let givenURL: String?
    /// The most private address space (public, local or loopback) from which the feed may be fetched; `nil` for that of
    /// the server that was contacted first (`FeedResponse.reach`).
    let reach: AddressSpace?
    let items: Merge.Items

    package init(
        url: String, feed: Feed, name: String?, response: FeedResponse, now: Int64, ephemeral: Bool = false,
        fromServer server: String? = nil, givenURL: String? = nil, reach: AddressSpace? = nil
    ) {
        self.givenURL = givenURL
        self.reach = reach
        self.url = url
        self.feed = feed
        self.name = name.map(FileName.normalized)
        self.response = response
        self.now = now
        self.ephemeral = ephemeral
        self.server = server
        items = Merge.Items(feed)
    }

    /// The maximum number of episodes that the show adds, without alternates.
    package var episodes: Int { items.episodes.count }
}

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
    package var isWhole = true
    /// The refresh interval in seconds that the feed asks for.
    package var updateInterval: Int64?
}

extension FeedResponse {
    /// - Parameter url: The address after all redirects.
    package init(_ head: ResponseHead, from url: String) {
        self.init(
            // A redirect may lead to an address with user info, which must not be passed on.
            finalURL: WebAddress.withoutUserInfo(url), status: head.status, etag: head["etag"],
            lastModified: head["last-modified"], contentType: head["content-type"], space: head.space,
            reach: head.firstSpace)
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
