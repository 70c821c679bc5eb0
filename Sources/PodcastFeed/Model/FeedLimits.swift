/// The limits of a document: external input must not determine how much memory podfs uses.
///
/// Content beyond a limit is truncated or omitted, usually with a diagnostic; it is never an error.
package struct FeedLimits: Sendable, Equatable {
    /// The maximum size of the document, or of all pages of a feed together, in bytes: 20,000 items with long show
    /// notes fit. Resolving relative references may add as many bytes again.
    package var bytes = 64 << 20
    /// The maximum number of items, or of subscriptions in a list. A daily show has 36,500 in a century.
    package var items = 100_000
    /// The maximum nesting depth. Feeds need a dozen; XHTML show notes add a few dozen more. Deeper elements are
    /// skipped.
    package var depth = 256
    /// The maximum size of a title, name, identifier or other line in bytes. A longer one is truncated at a character
    /// boundary.
    package var line = 4_096
    /// The maximum size of a URL in bytes: twice what common servers accept. A longer one is omitted, since a
    /// truncated URL is useless.
    package var url = 16_384
    /// The maximum size of a description in bytes. A longer one is truncated at a character boundary.
    package var text = 1 << 20
    /// The maximum number of enclosures, transcripts, chapters, people, categories and the like in one list.
    package var entries = 1_000
    /// The maximum number of diagnostics; a broken generator repeats one mistake in each item.
    package var diagnostics = 100

    package static let standard = FeedLimits()

    package init() {}
}
