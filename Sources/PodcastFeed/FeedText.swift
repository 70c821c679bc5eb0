/// Text as the readers of feeds take it.
package enum FeedText {
    /// What becomes of a title that a feed repeats: white space collapsed, references to characters replaced.
    package static func line(_ text: String) -> String? { FeedValues.line(Array(text.utf8)) }
}
