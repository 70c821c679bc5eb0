/// How much of a document is believed: nothing from outside may decide how much memory podfs uses.
///
/// What lies beyond a limit is cut or left out, with a diagnostic; it is never an error.
package struct FeedLimits: Sendable, Equatable {
    /// Bytes of the document as they came: 20,000 items with long show notes fit. Relative references may become
    /// longer by as much in all.
    package var bytes = 64 << 20
    /// Items, or the subscriptions of a list. A daily show of a century has 36,500.
    package var items = 100_000
    /// Elements inside elements. Feeds need a dozen; XHTML show notes add a few dozen more. Those deeper inside are
    /// passed over.
    package var depth = 256
    /// Bytes of a title, name, identifier or other line. A longer one is cut at a character.
    package var line = 4_096
    /// Bytes of a URL: twice what common servers accept. A longer one is left out, since half a URL is a wrong one.
    package var url = 16_384
    /// Bytes of a description. A longer one is cut at a character.
    package var text = 1 << 20
    /// Enclosures, transcripts, chapters, people, categories and the like in one list.
    package var entries = 1_000
    /// Diagnostics; a broken generator repeats one mistake in each of its items.
    package var diagnostics = 100

    package static let standard = FeedLimits()

    package init() {}
}
