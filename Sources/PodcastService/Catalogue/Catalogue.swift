internal import Foundation
internal import Platform
internal import PodcastLibrary
package import PodcastProtocol
package import Transfers

/// A podcast directory that can be searched over the web.
///
/// Pure: builds requests and parses responses; the caller does the network I/O. Conform a new type to add a catalogue.
package protocol Catalogue: Sendable {
    /// The public name, used in messages.
    var name: String { get }

    /// Builds the request that searches for a term.
    ///
    /// - Parameters:
    ///   - limit: the number of entries wanted; see `CatalogueAnswer.limit`.
    ///   - now: seconds since 1970. Some catalogues require a signature of this time, so a retry needs a new request.
    func request(for term: SearchTerm, limit: Int, now: Int64) throws(CatalogueError) -> CatalogueRequest

    /// Returns the entries of a response in order, at most `CatalogueAnswer.limit`, without those that lack a usable
    /// feed.
    ///
    /// - Parameter head: the head of the final response, whatever its status.
    func entries(head: ResponseHead, body: [UInt8]) throws(CatalogueError) -> [FoundShow]

    /// Builds the request for the show that a directory's web page describes; `nil` if the page belongs to another
    /// directory. `entries` parses the response.
    func request(for page: CataloguePage, now: Int64) throws(CatalogueError) -> CatalogueRequest?
}

/// A request to a catalogue.
package struct CatalogueRequest: Sendable {
    package let url: String
    package var fields: [(name: String, value: String)] = []
    /// Whether the header fields authenticate the caller. Redirects to other hosts must then not be followed, because
    /// libcurl sends custom fields there, too.
    package var hasCredentials: Bool = false
}

/// The failure of a catalogue search: one line that names the catalogue.
package struct CatalogueError: Error, Sendable, Equatable, CustomStringConvertible {
    package let catalogue: String
    package let message: String

    package var description: String { "\(catalogue): \(message)" }
}

/// A search term in normalized form, so that terms that a catalogue treats alike are equal.
package struct SearchTerm: Sendable, Hashable {
    /// The text that is sent: NFC, trimmed, with `PlainText.collapsed`.
    package let text: String
    /// The text folded for case-insensitive comparison.
    private let key: String

    /// Normalizes a term; `nil` if it is empty or longer than 200 characters. No show has such a long name, and
    /// catalogues truncate such a term.
    package init?(_ text: String) {
        // A folder's name has at most 255 bytes, but a client may send more. Reject a huge term before normalizing it.
        guard text.utf8.count <= 4_096 else { return nil }
        let normal = PlainText.collapsed(text.unicodeScalars).precomposedStringWithCanonicalMapping
        guard !normal.isEmpty, normal.count <= 200 else { return nil }
        self.text = normal
        key = FileName.folded(normal)
    }

    package static func == (one: Self, other: Self) -> Bool { one.key == other.key }
    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
