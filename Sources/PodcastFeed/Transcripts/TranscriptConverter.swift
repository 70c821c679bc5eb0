/// A streaming converter of transcripts to WebVTT: from JSON and HTML as specified for `podcast:transcript`
/// (https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/examples/transcripts/transcripts.md), SubRip,
/// and WebVTT itself, which is passed through.
///
/// The encoding and the format are detected from the first bytes, since servers and feeds often state a wrong one.
/// Memory does not grow with the transcript: only unfinished cues are retained, and `textLimit` limits their text.
package struct TranscriptConverter {
    private enum Format {
        /// There is no text yet.
        case undecided
        case webVTT
        /// A format with a reader, or an unknown one.
        case other
    }

    private var decoder: TextDecoder
    private var format = Format.undecided
    /// The reader of a format other than WebVTT; `nil` if the format is unknown.
    private var reader: (any TranscriptReader)?
    private var writer = WebVTTWriter()

    /// The maximum size in bytes of one line, text or name; the rest of a longer one is dropped.
    static let textLimit = 64 << 10

    /// - Parameter contentType: The value of the response's Content-Type field, for its `charset`.
    package init(contentType: String? = nil) { decoder = TextDecoder(contentType: contentType) }

    /// Converts the next bytes of the transcript.
    ///
    /// - Returns: The WebVTT text completed since the previous call.
    package mutating func append(_ bytes: [UInt8]) -> [UInt8] { read(decoder.decode(bytes)) }

    /// Finishes the transcript.
    ///
    /// - Returns: The rest of the WebVTT text; `nil` if the format is unknown or no cue was found. WebVTT itself is not
    ///   searched for cues.
    package mutating func finish() -> [UInt8]? {
        let output = read(decoder.finish())
        if format == .webVTT { return output }
        guard reader != nil else { return nil }
        reader?.finish(&writer)
        writer.finish()
        return writer.count > 0 ? output + writer.drainOutput() : nil
    }

    private mutating func read(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.isEmpty { return [] }
        // The first text has thousands of bytes, unless the transcript is shorter.
        if format == .undecided { (format, reader) = Self.format(of: bytes) }
        if format == .webVTT { return bytes }
        reader?.read(bytes, &writer)
        return writer.drainOutput()
    }

    private static func format(of bytes: [UInt8]) -> (Format, (any TranscriptReader)?) {
        let text = bytes.drop { $0.isXMLSpace }
        if text.starts(with: Array("WEBVTT".utf8)) { return (.webVTT, nil) }
        switch text.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return (.other, TranscriptJSONReader())
        case UInt8(ascii: "<"): return (.other, TranscriptHTMLReader())
        case .some(let byte) where byte.isDigit: return (.other, SubRipReader())
        default: return (.other, nil)
        }
    }
}

/// A streaming reader of a format of transcripts.
protocol TranscriptReader {
    /// Passes the cues that the next bytes complete to `writer`.
    mutating func read(_ bytes: [UInt8], _ writer: inout WebVTTWriter)
    /// Passes the last cue to `writer` at the end of the transcript.
    mutating func finish(_ writer: inout WebVTTWriter)
}
