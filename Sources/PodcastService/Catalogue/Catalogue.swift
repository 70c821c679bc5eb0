package import TransferCore

/// A directory of podcasts that can be searched over the web.
///
/// Pure: it says what to ask and reads what comes back; the caller does both to the network. A further catalogue is one
/// more type.
package protocol Catalogue: Sendable {
    /// As people know it; it stands in messages.
    var name: String { get }

    /// The request that searches for a term.
    ///
    /// - Parameters:
    ///   - limit: how many entries are wanted; see `CatalogueAnswer.limit`.
    ///   - now: seconds since 1970, for catalogues that sign their requests. A repetition needs a new request.
    func request(for term: SearchTerm, limit: Int, now: Int64) throws(CatalogueError) -> CatalogueRequest

    /// The entries of an answer in its order, at most `CatalogueAnswer.limit`. Those without a usable feed are left out.
    ///
    /// - Parameter head: of the final answer, whatever its status.
    func entries(head: ResponseHead, body: [UInt8]) throws(CatalogueError) -> [CatalogueEntry]
}

/// What to send.
package struct CatalogueRequest: Sendable {
    package let url: String
    package let fields: [(name: String, value: String)]
    /// Whether the fields prove who asks: then a redirect to another host is not to be followed, since libcurl sends
    /// fields of one's own there, too.
    package let hasCredentials: Bool

    package init(url: String, fields: [(name: String, value: String)] = [], hasCredentials: Bool = false) {
        self.url = url
        self.fields = fields
        self.hasCredentials = hasCredentials
    }
}

/// Why a catalogue could not be searched: one line, which names the catalogue.
package struct CatalogueError: Error, Sendable, Equatable, CustomStringConvertible {
    package let catalogue: String
    package let message: String

    package init(catalogue: String, message: String) {
        self.catalogue = catalogue
        self.message = message
    }

    package var description: String { "\(catalogue): \(message)" }
}
