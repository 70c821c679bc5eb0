/// A list of subscriptions in the exchange format of podcast programs (OPML 2.0, opml.org/spec2.opml).
///
/// A folder is read as a tag: a feed inside two nested folders gets two tags, and so does a feed listed in two folders.
package struct OPML: Sendable, Equatable {
    /// One feed of the list.
    package struct Subscription: Sendable, Equatable {
        /// The absolute http or https URL; may contain a user name and a password.
        package var url: String
        /// The show's name; `nil` if the list has none, or repeats the URL in its place.
        package var title: String?
        /// The displayed text: the attribute `text`. podfs writes the name of the show's folder; other programs write
        /// the title or a description.
        package var text: String?
        /// The show's web site.
        package var link: String?
        /// The names of the folders that contain the subscription, directly or inside other folders.
        package var folders: [String]
        /// The line of the document at which the `outline` starts; 0 if the subscription comes from elsewhere.
        package var line: Int

        package init(
            url: String, title: String? = nil, text: String? = nil, link: String? = nil, folders: [String] = [],
            line: Int = 0
        ) {
            self.url = url
            self.title = title
            self.text = text
            self.link = link
            self.folders = folders
            self.line = line
        }
    }

    package var title: String?
    /// The subscriptions in the document's order, each URL once.
    package var subscriptions: [Subscription] = []
    /// Corrected or skipped mistakes, with their lines.
    package var diagnostics: [Diagnostic] = []
    /// The diagnostics of unusable subscriptions, including those that ``diagnostics`` omits because of its limit.
    package var unusable: [Diagnostic] = []

    /// Parses a complete document.
    ///
    /// - Throws: ``DocumentError`` if it is not a list of subscriptions.
    package static func parse(_ bytes: [UInt8], limits: FeedLimits = .standard) throws -> OPML {
        let parser = OPMLParser(limits: limits)
        bytes.withUnsafeBytes { parser.parse($0) }
        return try parser.finish()
    }
}

/// An incremental parser of lists of subscriptions.
///
/// A malformed document yields the readable subscriptions, and diagnostics for the rest. ``FeedLimits/bytes`` limits
/// the document, ``FeedLimits/items`` the number of subscriptions.
///
/// Not thread-safe. Never opens a file or a connection.
package final class OPMLParser {
    private let document: FeedParser

    package init(limits: FeedLimits = .standard) { document = FeedParser(limits: limits) }

    /// Parses the next bytes of the document. Must not be called after ``finish()``.
    package func parse(_ bytes: UnsafeRawBufferPointer) { document.parse(bytes) }

    /// Finishes the document and returns the list.
    ///
    /// - Throws: ``DocumentError`` if it is not a list of subscriptions. An empty list is valid.
    package func finish() throws -> OPML {
        let (head, outlines) = try document.finish(expecting: .subscriptions)
        return OPML(
            title: head.title, subscriptions: outlines.subscriptions, diagnostics: head.diagnostics,
            unusable: outlines.unusable)
    }
}
