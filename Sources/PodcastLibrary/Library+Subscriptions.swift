import GRDB
package import PodcastFeed
package import TransferCore

/// A subscription, as lists of them need it.
package struct Subscription: Sendable, Equatable {
    package var podcast: ShowID
    /// The name of the folder.
    package var name: String
    package var url: String
    package var title: String
    /// The show's web site.
    package var link: String?
    package var changed: Int64
    /// See `Podcast.hasCredentials`.
    package var hasCredentials: Bool

    package init(
        podcast: ShowID, name: String, url: String, title: String, link: String? = nil, changed: Int64 = 0,
        hasCredentials: Bool = false
    ) {
        self.podcast = podcast
        self.name = name
        self.url = url
        self.title = title
        self.link = link
        self.changed = changed
        self.hasCredentials = hasCredentials
    }

    /// The subscription in a list for other programs, which display the folder's name.
    ///
    /// - Parameter url: the address as this list may show it.
    package func outline(url: String) -> OPML.Subscription {
        OPML.Subscription(
            url: url, title: title, text: name, link: link.map { RedactedURL.withoutUserInfo($0) })
    }

    /// The address as everybody may see it.
    package var visibleURL: String { RedactedURL.text(url, isPrivate: hasCredentials) }
}

/// A show that is to be subscribed to although its feed cannot be had now.
package struct UnfetchedShow: Sendable, Equatable {
    package var url: String
    /// The folder's name as it was before; `nil` makes one of the title.
    package var name: String?
    package var title: String?
    package var link: String?
    /// Why there is nothing of it yet, one line.
    package var error: String
    /// Of the server's answer, if there was one.
    package var httpStatus: Int?
    /// When to try again; `nil` for as soon as may be.
    package var next: Int64?
    /// A person gave the address.
    package var isGiven = true
    /// The most private space that the feed may be in; `nil` for any, as a person gave its address.
    package var reach: AddressSpace?

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

/// What became of an `UnfetchedShow`.
package enum KeptShow: Sendable, Equatable {
    case added(podcast: ShowID, name: String)
    /// It was subscribed to already.
    case known(podcast: ShowID, name: String)

    package var podcast: ShowID {
        switch self {
        case .added(let id, _), .known(let id, _): id
        }
    }

    package var name: String {
        switch self {
        case .added(_, let name), .known(_, let name): name
        }
    }
}

extension Library {
    /// The subscriptions by name. Counts nothing, unlike `podcasts()`: a millisecond for a thousand.
    package func subscriptions() throws -> [Subscription] {
        try query { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT p.id, p.name, p.url, p.title, p.link, p.changed, \(PodcastSQL.hasCredentials)
                    FROM podcast p WHERE p.ephemeral = 0 ORDER BY p.folded, p.name
                    """)
            return try Row.fetchCursor(statement).mapAll { row in
                Subscription(
                    podcast: row[0], name: row[1], url: row[2], title: row[3], link: row[4], changed: row[5],
                    hasCredentials: row[6])
            }
        }
    }

    /// Whether anybody has subscribed to anything.
    package func hasSubscriptions() throws -> Bool {
        try query { db in
            try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM podcast WHERE ephemeral = 0)")) ?? false
        }
    }

    /// Subscribes to shows without their feeds, in one transaction: each is a folder without episodes in the state
    /// `failed`, until a refresh succeeds. A search result of the same address becomes the subscription.
    ///
    /// A name that is taken, or can be none, gives way as one that comes from a feed does.
    ///
    /// - Parameter server: the address by which the sync server has named the show: it need not be told.
    /// - Returns: what became of each, in their order.
    package func keep(
        _ shows: [UnfetchedShow], fromServer server: String? = nil, now: Int64
    ) throws -> [KeptShow] {
        try write { db in
            // Asked of the index name by name: a list of thousands comes here show by show.
            var names = UniqueNames(taken: UniqueNames.reservedInRoot)
            return try shows.map { show in
                let kept = try Self.keep(show, &names, db, now: now)
                if let server { try Self.arrive(podcast: kept.podcast, from: server, db) }
                return kept
            }
        }
    }

    private static func keep(
        _ show: UnfetchedShow, _ names: inout UniqueNames, _ db: Database, now: Int64
    ) throws -> KeptShow {
        let found = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, name, ephemeral FROM podcast WHERE url = ?"), arguments: [show.url])
        if let found, !found[2] { return .known(podcast: found[0], name: found[1]) }
        let title = title(show.title, url: show.url)
        let given = show.name.map(FileName.normalized).flatMap { name in
            (try? validate(folder: name)) == nil ? nil : name
        }
        let folder = try names.claim(given ?? FileName.stem(title)) { try isTaken($0, db) }
        if let found {
            let id: ShowID = found[0]
            try give(podcast: id, url: show.isGiven ? show.url : nil, reach: show.reach, db)
            try db.execute(
                sql: "UPDATE podcast SET name = ?, folded = ?, ephemeral = 0, created = ?, changed = ? WHERE id = ?",
                arguments: [folder, FileName.folded(folder), now, now, id])
            return .added(podcast: id, name: folder)
        }
        try db.cachedStatement(
            sql: """
                INSERT INTO podcast
                    (name, folded, url, title, link, state, error, http_status, next_refresh, created, changed)
                VALUES (?, ?, ?, ?, ?, 'failed', ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            folder, FileName.folded(folder), show.url, title, show.link, show.error, show.httpStatus, show.next, now,
            now,
        ])
        let id = ShowID(db.lastInsertedRowID)
        try give(podcast: id, url: show.isGiven ? show.url : nil, reach: show.reach, db)
        return .added(podcast: id, name: folder)
    }

    /// Notes whether a show is fetched with credentials. They themselves are not kept in the library.
    package func setHasCredentials(podcast: ShowID, _ hasCredentials: Bool) throws {
        try set(podcast: podcast, key: PodcastSQL.credentialsKey, value: hasCredentials ? "stored" : nil)
    }
}

extension Podcast {
    /// What may be shown of an address of this show: of its feed, of its media.
    package func visible(_ url: String) -> String { RedactedURL.text(url, isPrivate: hasCredentials) }

    /// What may be shown of the feed's address.
    package var visibleURL: String { visible(url) }
}
