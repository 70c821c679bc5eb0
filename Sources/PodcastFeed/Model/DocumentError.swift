/// The reason why a document is not a feed, or not a list of subscriptions.
///
/// A mistake that the parser corrects or skips is not an error but a ``Diagnostic``.
package struct DocumentError: Error, Equatable, CustomStringConvertible {
    /// A kind of document that is expected.
    package enum Kind: Sendable {
        case feed, subscriptions
    }

    /// The reason, regardless of the kind of document that was expected.
    package enum Problem: Error, Equatable {
        /// No bytes, or nothing but white space.
        case empty
        /// A web page, with its title, `nil` if it has none, and the feeds that it names.
        case html(title: String?, feeds: [WebLink] = [])
        /// A feed in place of a list of subscriptions, with its title; `nil` if it has none.
        case feed(title: String?)
        /// XML with another root element than expected.
        case root(String)
        /// Neither XML nor JSON. `beginning` is the start of the document.
        case notXML(beginning: String)
        /// JSON that is not a JSON Feed, or malformed JSON, with the reason.
        case json(String)
        /// XML that could not be parsed up to its root element.
        case unreadable(line: Int, message: String)
        /// A file of another format. The value is the format's name from ``FileSignature``, with an article, such as
        /// `an MP3 file`.
        case file(String)
    }

    package var problem: Problem
    package var expected: Kind

    package init(_ problem: Problem, expected: Kind) {
        self.problem = problem
        self.expected = expected
    }

    package var description: String {
        let isFeed = expected == .feed
        let other = isFeed ? "not a feed" : "not a list of subscriptions"
        switch problem {
        case .empty:
            return isFeed
                ? "the document is empty: check the feed's URL, or try again later"
                : "the file is empty: export the subscriptions again"
        case .html(let title, let feeds) where isFeed && !feeds.isEmpty:
            let list = feeds.map { $0.url + Self.quoted($0.title) }.joined(separator: ", ")
            return "this is a web page\(Self.quoted(title)), \(other); it names "
                + (feeds.count == 1 ? "the feed \(list)" : "\(feeds.count) feeds: \(list)")
        case .html(let title, _):
            let advice = isFeed ? "look for the feed's own URL on that page" : "download the OPML file itself"
            return "this is a web page\(Self.quoted(title)), \(other): \(advice)"
        case .feed(let title):
            return "this is a feed\(Self.quoted(title)), \(other): use “podfs subscribe” with its address"
        case .root(let root) where isFeed && root.lowercased() == "opml":
            return "this is a list of subscriptions (OPML), \(other): use “podfs import” for it"
        case .root(let root):
            let roots = isFeed ? "<rss>, <feed> or <rdf:RDF>" : "<opml>"
            return "this is XML, but \(other): its root element is <\(root)>, not \(roots)"
        case .notXML(let beginning):
            return isFeed
                ? "this is neither XML nor JSON: it begins with “\(beginning)”; check the feed's URL"
                : "this is not OPML: it begins with “\(beginning)”; export the subscriptions as OPML"
        case .json(let reason):
            return isFeed
                ? "this is JSON, but not a JSON Feed: \(reason); check the feed's URL"
                : "this is JSON, \(other): export them as OPML"
        case .file(let name):
            return "this is \(name), \(other): \(isFeed ? "look for the feed's own URL" : "export them as OPML")"
        case .unreadable(let line, let message):
            let advice = isFeed ? "tell the publisher, or check the feed's URL" : "export the subscriptions again"
            return "line \(line): the XML cannot be read (\(message)): \(advice)"
        }
    }

    private static func quoted(_ title: String?) -> String { title.map { " (“\($0)”)" } ?? "" }
}
