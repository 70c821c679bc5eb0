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
        if let title {
            output.write("    <title>")
            output.escape(title)
            output.write("</title>\n")
        }
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

    /// Returns the list as a document.
    package func document(created: PublicationDate? = nil) -> [UInt8] {
        Self.document(title: title, created: created, subscriptions: subscriptions)
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
