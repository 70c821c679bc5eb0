/// Text in the memory of the parser or of the reader, of which no copy is made; valid during the call.
typealias FeedBytes = UnsafeBufferPointer<UInt8>

/// Text as the readers of feeds take it.
package enum FeedText {
    /// What becomes of a title that a feed repeats: white space collapsed, references to characters replaced.
    package static func line(_ text: String) -> String? { FeedValues.line(text.utf8) }
}
