import GRDB
package import PodcastProtocol
package import Transfers

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
