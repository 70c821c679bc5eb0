import GRDB
package import TransferCore

/// What decides on the requests that a show leads to: who named its feed, and where that is.
package struct ShowAccess: Sendable, Equatable {
    /// The address of the feed.
    package var url: String
    /// The address that a person gave; `nil` where a catalogue or a server named it.
    package var givenURL: String?
    /// The most private space that the feed may be in: that in which it was found. `nil` while it was never fetched.
    package var reach: AddressSpace?
    /// The space that the feed was last fetched from.
    package var space: AddressSpace?

    package init(
        url: String, givenURL: String? = nil, reach: AddressSpace? = nil, space: AddressSpace? = nil
    ) {
        self.url = url
        self.givenURL = givenURL
        self.reach = reach
        self.space = space
    }

    /// The most private space that what the feed names may be in.
    package var leads: AddressSpace? { space ?? reach }

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
    package func showAccess(of podcast: ShowID) throws -> ShowAccess? {
        try query { db in
            try Row.fetchOne(
                db.cachedStatement(sql: "SELECT \(ShowAccess.columns) FROM podcast p WHERE p.id = ?"),
                arguments: [podcast]
            ).map { ShowAccess($0, from: 0) }
        }
    }

    /// A person gives the address of a show anew, and its feed was fetched from that space.
    package func give(podcast: ShowID, url: String, reach: AddressSpace?) throws {
        try write { db in try Self.give(podcast: podcast, url: url, reach: reach, db) }
    }

    static func give(podcast: ShowID, url: String?, reach: AddressSpace?, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE podcast SET given_url = ?, reach = ? WHERE id = ?")
            .execute(arguments: [url, reach?.rawValue, podcast])
    }
}
