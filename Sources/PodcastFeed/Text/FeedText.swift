/// Text in the memory of the parser or the reader; valid only during the call that receives it.
typealias FeedBytes = UnsafeBufferPointer<UInt8>

/// Normalization of texts for comparison with those in feeds.
package enum FeedText {
    /// Normalizes a title: collapses white space and replaces character references. Returns `nil` if nothing is left.
    package static func line(_ text: String) -> String? { FeedValues.line(text.utf8) }
}
