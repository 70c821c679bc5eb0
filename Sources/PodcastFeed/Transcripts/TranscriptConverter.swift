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
        case subRip(SubRipReader)
        case json(TranscriptJSONReader)
        case html(TranscriptHTMLReader)
        case unknown
    }

    private var decoder: TextDecoder
    private var format = Format.undecided
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
        switch format {
        case .webVTT: return output
        case .subRip(var reader): reader.finish(&writer)
        case .json: break
        case .html(var reader): reader.finish(&writer)
        case .undecided, .unknown: return nil
        }
        writer.finish()
        return writer.count > 0 ? output + writer.drainOutput() : nil
    }

    private mutating func read(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.isEmpty { return [] }
        // The first text has thousands of bytes, unless the transcript is shorter.
        if case .undecided = format { format = Self.format(of: bytes) }
        // The state is moved out and back, so that its buffers are not copied.
        let format = format
        self.format = .unknown
        switch format {
        case .webVTT:
            self.format = .webVTT
            return bytes
        case .subRip(var reader):
            reader.read(bytes, &writer)
            self.format = .subRip(reader)
        case .json(var reader):
            reader.read(bytes, &writer)
            self.format = .json(reader)
        case .html(var reader):
            reader.read(bytes, &writer)
            self.format = .html(reader)
        case .undecided, .unknown: return []
        }
        return writer.drainOutput()
    }

    private static func format(of bytes: [UInt8]) -> Format {
        let text = bytes.drop { $0.isXMLSpace }
        if text.starts(with: Array("WEBVTT".utf8)) { return .webVTT }
        switch text.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .json(TranscriptJSONReader())
        case UInt8(ascii: "<"): return .html(TranscriptHTMLReader())
        case .some(let byte) where byte.isDigit: return .subRip(SubRipReader())
        default: return .unknown
        }
    }
}
