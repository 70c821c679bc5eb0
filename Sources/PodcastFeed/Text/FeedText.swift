/// A view of text in memory that belongs to the parser or the feed reader. It is valid only during the call that gets
/// it as an argument.
typealias FeedBytes = UnsafeBufferPointer<UInt8>

/// A position in `FeedBytes`.
typealias BytePosition = UnsafePointer<UInt8>

/// Normalization of texts for comparison with those in feeds.
package enum FeedText {
    /// Normalizes a title: collapses white space and replaces character references. Returns `nil` if nothing is left.
    package static func line(_ text: String) -> String? { FeedValues.line(text.utf8) }
}
