/// Converts a transcript to WebVTT as its bytes arrive: JSON and HTML as specified for `podcast:transcript`
/// (https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/examples/transcripts/transcripts.md), SubRip,
/// and WebVTT itself, which stays as it is.
///
/// The form is detected from the first bytes, since servers and feeds often name another. Memory does not grow with the
/// transcript: at most one cue of `textLimit` bytes is held.
package struct TranscriptConverter {
    private enum Form {
        /// The first bytes, too few to detect the form.
        case undecided([UInt8])
        case webVTT
        case subRip(SubRipReader)
        case json(TranscriptJSONReader)
        case html(TranscriptHTMLReader)
        case unknown
    }

    private var form = Form.undecided([])
    private var writer = WebVTTWriter()
    private var hasOutput = false

    /// The maximum size in bytes of one line, text or name; the rest of a longer one is dropped.
    static let textLimit = 64 << 10
    /// The number of bytes by which the form is detected.
    private static let detection = 256

    package init() {}

    /// Adds bytes of the transcript.
    ///
    /// - Returns: The WebVTT text that is complete.
    package mutating func append(_ bytes: [UInt8]) -> [UInt8] {
        if case .undecided(let first) = form {
            let bytes = first + bytes
            guard bytes.count >= Self.detection else {
                form = .undecided(bytes)
                return []
            }
            form = Self.form(of: bytes)
            return read(bytes)
        }
        return read(bytes)
    }

    /// Ends the transcript.
    ///
    /// - Returns: The rest of the WebVTT text; `nil` if the transcript contained no text with a time.
    package mutating func finish() -> [UInt8]? {
        var output: [UInt8] = []
        if case .undecided(let first) = form {
            form = Self.form(of: first)
            output = read(first)
        }
        switch form {
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
        // The state is moved out and back, so that its buffers are not copied.
        let form = form
        self.form = .unknown
        switch form {
        case .webVTT:
            self.form = .webVTT
            return bytes
        case .subRip(var reader):
            reader.read(bytes, &writer)
            self.form = .subRip(reader)
        case .json(var reader):
            reader.read(bytes, &writer)
            self.form = .json(reader)
        case .html(var reader):
            reader.read(bytes, &writer)
            self.form = .html(reader)
        case .undecided, .unknown: return []
        }
        return writer.drainOutput()
    }

    private static func form(of bytes: [UInt8]) -> Form {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let text = bytes[start...].drop { $0.isXMLSpace }
        if text.starts(with: Array("WEBVTT".utf8)) { return .webVTT }
        switch text.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .json(TranscriptJSONReader())
        case UInt8(ascii: "<"): return .html(TranscriptHTMLReader())
        case .some(let byte) where byte.isDigit: return .subRip(SubRipReader())
        default: return .unknown
        }
    }
}
