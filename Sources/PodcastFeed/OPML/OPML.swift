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
        let parser = FeedParser(limits: limits)
        bytes.withUnsafeBytes { parser.parse($0) }
        return try parser.finishSubscriptions()
    }
}

extension FeedParser {
    /// Finishes the document and returns the list of subscriptions.
    ///
    /// A malformed document yields the readable subscriptions, and diagnostics for the rest. ``FeedLimits/items``
    /// limits the number of subscriptions.
    ///
    /// - Throws: ``DocumentError`` if it is not a list of subscriptions. An empty list is valid.
    package func finishSubscriptions() throws -> OPML {
        let (head, outlines) = try finish(expecting: .subscriptions)
        return OPML(
            title: head.title, subscriptions: outlines.subscriptions, diagnostics: head.diagnostics,
            unusable: outlines.unusable)
    }
}

extension OPML {
    /// Returns the document of a list of subscriptions: XML 1.0 in UTF-8, one subscription per line.
    ///
    /// The subscriptions without folders come first, then the folders, sorted by name, each with all its subscriptions.
    ///
    /// Equal values produce equal bytes. Characters that XML does not allow are omitted; all others survive a round
    /// trip.
    ///
    /// - Parameters:
    ///   - title: The title of the list, for the `head` element.
    ///   - created: The creation time of the list, for the `head` element.
    package static func document(
        title: String? = nil, created: PublicationDate? = nil, subscriptions: some Sequence<Subscription>
    ) -> [UInt8] {
        var output = XMLText()
        output.write("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head>\n")
        output.element("title", title, indent: "    ")
        if let created { output.write("    <dateCreated>\(created.rfc822)</dateCreated>\n") }
        output.write("  </head>\n  <body>\n")
        var folders: [String: [Subscription]] = [:]
        for subscription in subscriptions {
            if subscription.folders.isEmpty { output.write(subscription, indent: "    ") }
            for folder in subscription.folders { folders[folder, default: []].append(subscription) }
        }
        for (folder, subscriptions) in folders.sorted(by: { $0.key < $1.key }) {
            output.write("    <outline")
            output.write("text", folder)
            output.write(">\n")
            for subscription in subscriptions { output.write(subscription, indent: "      ") }
            output.write("    </outline>\n")
        }
        output.write("  </body>\n</opml>\n")
        return output.bytes
    }
}

extension XMLText {
    fileprivate mutating func write(_ subscription: OPML.Subscription, indent: String) {
        write("\(indent)<outline type=\"rss\"")
        // The specification requires `text`; programs display either `text` or `title`.
        write("text", subscription.text ?? subscription.title ?? subscription.url)
        if let title = subscription.title { write("title", title) }
        write("xmlUrl", subscription.url)
        if let link = subscription.link { write("htmlUrl", link) }
        write("/>\n")
    }
}
