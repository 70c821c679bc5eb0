import GRDB
internal import Platform
package import PodcastFeed
package import PodcastProtocol
package import Transfers

/// The data of a subscribed show that a list of subscriptions needs.
package struct Subscription: Sendable, Equatable {
    package var podcast: ShowID
    /// The folder's name.
    package var name: String
    package var url: String
    package var title: String
    /// The show's web site.
    package var link: String?
    package var changed: Int64 = 0
    /// See `Podcast.hasCredentials`.
    package var hasCredentials = false
    package var tags: [String] = []

    /// Returns the subscription as an OPML outline. Its text, which other programs display, is the folder's name.
    ///
    /// - Parameter url: The feed's address, with or without secrets as the list requires.
    package func outline(url: String) -> OPML.Subscription {
        OPML.Subscription(
            url: url, title: title, text: name, link: link.map { WebAddress.withoutUserInfo($0) },
            folders: tags)
    }

    /// The address without secrets.
    package var visibleURL: String { WebAddress.redacted(url, isPrivate: hasCredentials) }
}

/// A show to be subscribed although its feed cannot be fetched now.
package struct UnfetchedShow: Sendable, Equatable {
    package var url: String
    /// The name that the folder had in a lost library, if the show is restored; `nil` derives a name from the title.
    package var name: String?
    package var title: String?
    package var link: String?
    /// The reason why the feed could not be fetched, one line.
    package var error: String
    /// The HTTP status of the server's response, if any.
    package var httpStatus: Int?
    /// The time of the next attempt; `nil` for as soon as possible.
    package var next: Int64?
    /// Whether a person entered the address.
    package var isGiven = true
    /// The most private address space from which the feed may be fetched: the internet, a local network or this
    /// computer. `nil`, for an address that a person entered, allows all of them.
    package var reach: AddressSpace?
    package var tags: [String] = []

    package init(
        url: String, name: String? = nil, title: String? = nil, link: String? = nil, error: String,
        httpStatus: Int? = nil, next: Int64? = nil
    ) {
        self.url = url
        self.name = name
        self.title = title
        self.link = link
        self.error = error
        self.httpStatus = httpStatus
        self.next = next
    }
}

/// The result for an `UnfetchedShow`.
package struct UnfetchedShowResult: Sendable, Equatable {
    package var podcast: ShowID
    /// The folder's name.
    package var name: String
    /// Whether the show was added; otherwise it was already subscribed.
    package var isNew: Bool
}

extension Library {
    /// Returns the subscriptions, sorted by name. Takes a millisecond for a thousand shows, unlike `podcasts()`, which
    /// counts episodes.
    package func subscriptions() throws -> [Subscription] { try query(Self.subscriptions) }

    static func subscriptions(_ db: Database) throws -> [Subscription] {
        let tags = try tagsOfShows(db)
        return try Row.fetchCursor(
            db,
            """
            SELECT p.id, p.name, p.url, p.title, p.link, p.changed, \(PodcastSQL.hasCredentials)
            FROM podcast p WHERE p.ephemeral = 0 ORDER BY p.folded, p.name
            """
        ).mapAll { row in
            let id: ShowID = row[0]
            return Subscription(
                podcast: id, name: row[1], url: row[2], title: row[3], link: row[4], changed: row[5],
                hasCredentials: row[6], tags: tags[id] ?? [])
        }
    }

    /// Whether there are any subscriptions.
    package func hasSubscriptions() throws -> Bool {
        try value("SELECT EXISTS (SELECT 1 FROM podcast WHERE ephemeral = 0)") ?? false
    }

    /// Subscribes to shows whose feeds could not be fetched, in one transaction. Each becomes a folder without
    /// episodes, in the state `failed` until a refresh succeeds. A search result with the same address becomes the
    /// subscription, with its episodes and its title.
    ///
    /// A name that is taken gets a number. An invalid name is replaced by one derived from the title.
    ///
    /// - Parameter server: The show's address as the sync server has sent it, so that the subscription is not sent
    ///   back. `nil` if the subscription does not come from a sync server.
    /// - Returns: The result for each show, in their order.
    package func subscribeUnfetched(
        _ shows: [UnfetchedShow], template: NameTemplate = .standard, fromServer server: String? = nil, now: Int64
    ) throws -> [UnfetchedShowResult] {
        try write { db in
            // Taken names are looked up one by one in the index rather than all loaded: callers import thousands of
            // shows with one call for each.
            var names = UniqueNames(taken: UniqueNames.reservedInRoot)
            return try shows.map { show in
                let result = try Self.subscribeUnfetched(show, template, &names, db, now: now)
                if let server { try Self.recordArrival(of: result.podcast, from: server, db) }
                return result
            }
        }
    }

    private static func subscribeUnfetched(
        _ show: UnfetchedShow, _ template: NameTemplate, _ names: inout UniqueNames, _ db: Database, now: Int64
    ) throws -> UnfetchedShowResult {
        let found = try Row.fetchOne(db, "SELECT id, name, ephemeral FROM podcast WHERE url = ?", [show.url])
        if let found, !found[2] { return UnfetchedShowResult(podcast: found[0], name: found[1], isNew: false) }
        let title = title(show.title, url: show.url)
        let given = show.name.map(FileName.normalized).flatMap { name in
            (try? validate(folder: name)) == nil ? nil : name
        }
        let folder = try names.claim(given ?? template.folder(title)) { try isTaken($0, db) }
        let id = try PodcastSQL.put(show.url, title, folder: folder, now: now, db)
        try db.run(
            """
            UPDATE podcast SET link = coalesce(link, ?), state = 'failed', error = ?, http_status = ?, next_refresh = ?
            WHERE id = ?
            """, [show.link, show.error, show.httpStatus, show.next, id])
        try setAccess(of: id, url: show.isGiven ? show.url : nil, reach: show.reach, db)
        if !show.tags.isEmpty { try setTags(show.tags, of: id, db) }
        return UnfetchedShowResult(podcast: id, name: folder, isNew: true)
    }

    /// Records whether a show is fetched with credentials, which are not stored in the library.
    package func setHasCredentials(podcast: ShowID, _ hasCredentials: Bool) throws {
        try set(podcast: podcast, key: PodcastSQL.credentialsKey, value: hasCredentials ? "stored" : nil)
    }
}

extension Podcast {
    /// Returns `url`, an address of this show, its feed or its media, without secrets.
    package func visible(_ url: String) -> String { WebAddress.redacted(url, isPrivate: hasCredentials) }

    /// The feed's address without secrets.
    package var visibleURL: String { visible(url) }
}
