/// A list of subscriptions, as podcast programs exchange it (OPML 2.0, opml.org/spec2.opml).
///
/// Folders are flattened: podfs has none.
package struct OPML: Sendable, Equatable {
    /// One feed of the list.
    package struct Subscription: Sendable, Equatable {
        /// Absolute, http or https; may hold a user name and a password.
        package var url: String
        /// The show's name; `nil` when there is none, or nothing but the address.
        package var title: String?
        /// What is displayed for it, as written: the attribute `text`. podfs writes the folder's name there; other programs
        /// write the title or a description.
        package var text: String?
        /// The show's web site.
        package var link: String?
        /// The line of the document at which its outline begins; 0 when it comes from elsewhere.
        package var line: Int

        package init(
            url: String, title: String? = nil, text: String? = nil, link: String? = nil, line: Int = 0
        ) {
            self.url = url
            self.title = title
            self.text = text
            self.link = link
            self.line = line
        }
    }

    package var title: String?
    /// In the document's order, each address once.
    package var subscriptions: [Subscription]
    /// What had to be mended or passed over, with its line.
    package var diagnostics: [Diagnostic]
    /// Those of the diagnostics that tell of a subscription which cannot be used; also those beyond
    /// ``FeedLimits/diagnostics``.
    package var unusable: [Diagnostic]

    package init(
        title: String? = nil, subscriptions: [Subscription] = [], diagnostics: [Diagnostic] = [],
        unusable: [Diagnostic] = []
    ) {
        self.title = title
        self.subscriptions = subscriptions
        self.diagnostics = diagnostics
        self.unusable = unusable
    }

    /// Reads a whole document.
    ///
    /// - Throws: ``OPMLError`` when it is no list of subscriptions.
    package static func parse(_ bytes: [UInt8], limits: FeedLimits = .standard) throws -> OPML {
        let parser = OPMLParser(limits: limits)
        bytes.withUnsafeBytes { parser.parse($0) }
        return try parser.finish()
    }
}

/// Reads a list of subscriptions from its bytes as they arrive.
///
/// A broken document gives what is there, with a diagnostic for what is not; ``FeedLimits/bytes`` and
/// ``FeedLimits/items`` hold for the document and its subscriptions.
///
/// Belongs to one thread at a time. Never opens a file or a connection.
package final class OPMLParser {
    private let document: FeedParser

    package init(limits: FeedLimits = .standard) {
        document = FeedParser(limits: limits)
    }

    /// Reads the next bytes of the document. Not to be called after ``finish()``.
    package func parse(_ bytes: UnsafeRawBufferPointer) {
        document.parse(bytes)
    }

    /// The document is over.
    ///
    /// - Throws: ``OPMLError`` when it is no list of subscriptions. A list without any is none.
    package func finish() throws -> OPML {
        switch document.finishDocument() {
        case .subscriptions(_, let head, let outlines):
            return OPML(
                title: head.title, subscriptions: outlines.subscriptions, diagnostics: head.diagnostics,
                unusable: outlines.unusable)
        case .empty: throw OPMLError.empty
        case .html(let title): throw OPMLError.html(title: title)
        case .feed(let feed): throw OPMLError.feed(title: feed.title)
        case .json: throw OPMLError.json
        case .text(let beginning): throw OPMLError.notXML(beginning: beginning)
        case .otherXML(let root): throw OPMLError.otherXML(root: root)
        case .unreadable(let line, let message): throw OPMLError.unreadable(line: line, message: message)
        }
    }
}
