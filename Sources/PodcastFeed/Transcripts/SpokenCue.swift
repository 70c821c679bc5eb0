/// A cue of a transcript as plain text.
package struct SpokenCue: Sendable, Equatable {
    /// Seconds from the episode's start.
    package var start: Double
    /// The text on one line, without markup.
    package var text: String
}

extension SpokenCue {
    /// Returns the cues of a transcript in any format that `TranscriptConverter` reads, in the order of the document.
    /// Speakers' names are omitted.
    package static func cues(in transcript: [UInt8]) -> [SpokenCue] {
        var converter = TranscriptConverter()
        let webVTT = converter.append(transcript) + (converter.finish() ?? [])
        var cues: [SpokenCue] = []
        var start: Double?
        var lines: [String] = []
        func endCue() {
            if let start {
                let text = NotesLines.lines(of: lines.joined(separator: "\n"), limit: TranscriptConverter.textLimit)
                if !text.isEmpty { cues.append(SpokenCue(start: start, text: text.joined(separator: " "))) }
            }
            start = nil
            lines = []
        }
        var rest = webVTT[...]
        while !rest.isEmpty {
            let bytes = rest.prefix { $0 != 0x0A && $0 != 0x0D }
            rest = rest[bytes.endIndex...]
            rest = rest.dropFirst(rest.starts(with: [0x0D, 0x0A]) ? 2 : 1)
            let line = String(decoding: bytes.prefix(TranscriptConverter.textLimit), as: UTF8.self)
            if bytes.allSatisfy(\.isXMLSpace) {
                endCue()
            } else if let times = SubRipReader.times(line) {
                endCue()
                start = times.start
            } else if start != nil {
                lines.append(line)
            }
        }
        endCue()
        return cues
    }
}
