/// The reason why a document is not a feed.
///
/// A mistake that the parser corrects or skips is not an error but a ``Diagnostic``.
package enum FeedError: Error, Equatable, CustomStringConvertible {
    /// No bytes, or nothing but white space.
    case empty
    /// A web page, with its title; `nil` if it has none.
    case html(title: String?)
    /// XML whose root element is none of `rss`, `rdf:RDF` and `feed`.
    case notAFeed(root: String)
    /// Neither XML nor JSON. `beginning` is the start of the document.
    case notXML(beginning: String)
    /// JSON that is not a JSON Feed, or malformed JSON, with the reason.
    case notAJSONFeed(String)
    /// XML that could not be parsed up to its root element.
    case unreadable(line: Int, message: String)
    /// A file of another format. The value is the format's name from ``FileSignature``, with an article, such as
    /// `an MP3 file`.
    case file(String)

    package var description: String {
        switch self {
        case .empty:
            return "the document is empty: check the feed's URL, or try again later"
        case .html(let title?):
            return "this is a web page (“\(title)”), not a feed: look for the feed's own URL on that page"
        case .html(nil):
            return "this is a web page, not a feed: look for the feed's own URL on that page"
        case .notAFeed(let root) where root.lowercased() == "opml":
            return "this is a list of subscriptions (OPML), not a feed: use “podfs import” for it"
        case .notAFeed(let root):
            return "this is XML, but not a feed: its root element is <\(root)>, not <rss>, <feed> or <rdf:RDF>"
        case .notXML(let beginning):
            return "this is neither XML nor JSON: it begins with “\(beginning)”; check the feed's URL"
        case .notAJSONFeed(let reason):
            return "this is JSON, but not a JSON Feed: \(reason); check the feed's URL"
        case .file(let name):
            return "this is \(name), not a feed: look for the feed's own URL"
        case .unreadable(let line, let message):
            return "line \(line): the XML cannot be read (\(message)): tell the publisher, or check the feed's URL"
        }
    }
}
