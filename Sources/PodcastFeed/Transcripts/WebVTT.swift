internal import Platform

/// A part of a transcript: the text spoken from one time to another.
struct TranscriptCue: Equatable {
    /// Seconds from the episode's start.
    var start: Double
    /// Seconds from the episode's start; `nil` if the source does not state it.
    var end: Double?
    var speaker: String?
    /// Plain text, or WebVTT's markup if `isMarkup`.
    var text: String
    var isMarkup = false
}

/// Cues as WebVTT (https://www.w3.org/TR/webvtt1/). Cues of single words are joined into lines.
enum WebVTT {
    /// The maximum start and end of a cue in seconds. WebVTT has no limit, but players do.
    private static let latestTime = 1e6
    /// The limits for joining the words of one speaker into one cue: bytes of text (two lines of subtitles), seconds of
    /// duration, and seconds of silence between two words.
    private static let joinLimits = (length: 84, duration: 6.0, silence: 1.0)
    /// The reading speed in bytes per second, for the duration of a cue without an end if no later cue follows.
    private static let readingSpeed = 15.0

    /// Returns the document; `nil` if no cue has a text and a valid start.
    static func document(_ cues: [TranscriptCue]) -> [UInt8]? {
        var written: [TranscriptCue] = []
        for var cue in cues where cue.start.isFinite && (0...latestTime).contains(cue.start) {
            cue.text = cue.text.split(whereSeparator: \.isNewline).map { line in
                line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            }.filter { !$0.isEmpty }.joined(separator: "\n")
            if cue.text.isEmpty { continue }
            if let end = cue.end, !(end > cue.start && end <= latestTime) { cue.end = nil }
            if let last = written.last, let joint = joined(last, cue) {
                written[written.count - 1] = joint
            } else {
                written.append(cue)
            }
        }
        guard !written.isEmpty else { return nil }
        let starts = written.map(\.start).dropFirst() + [0]
        return Array("WEBVTT\n\n\(zip(written, starts).map(text).joined())".utf8)
    }

    /// Returns the two cues joined into one. Returns `nil` if together they exceed a limit, if a cue has no end, has
    /// several lines or is markup, if the speakers differ, if `other` starts before `one`, or if `one` ends a sentence.
    private static func joined(_ one: TranscriptCue, _ other: TranscriptCue) -> TranscriptCue? {
        guard let end = one.end, let last = other.end, one.speaker == other.speaker, !other.isMarkup,
            other.start >= one.start, other.start - end < joinLimits.silence,
            last - one.start <= joinLimits.duration,
            one.text.utf8.count + other.text.utf8.count < joinLimits.length,
            !one.text.contains("\n"), !other.text.contains("\n"), let mark = one.text.last, !".?!…。？！".contains(mark)
        else { return nil }
        var cue = one
        cue.end = max(end, last)
        // Some programs write punctuation as a segment of its own.
        let isPunctuation = other.text.first.map { ".,?!;:…".contains($0) } ?? false
        cue.text += (isPunctuation ? "" : " ") + other.text
        return cue
    }

    /// - Parameter next: The start of the next cue, at which a cue without an end ends.
    private static func text(of cue: TranscriptCue, before next: Double) -> String {
        let reading = min(60, max(2, Double(cue.text.utf8.count) / readingSpeed))
        let end = cue.end ?? (next > cue.start ? next : cue.start + reading)
        let voice = cue.speaker.map(voice).flatMap { $0.isEmpty ? nil : "<v \($0)>" } ?? ""
        // An arrow would end the text of a cue.
        let text = (cue.isMarkup ? cue.text : escaped(cue.text)).replacingScalars("-->", with: "--&gt;")
        return "\(time(cue.start)) --> \(time(end))\n\(voice)\(text)\n\n"
    }

    /// Formats a time as `HH:MM:SS.mmm`.
    private static func time(_ seconds: Double) -> String {
        let milliseconds = Int((seconds * 1_000).rounded())
        let clock = [milliseconds / 3_600_000, milliseconds / 60_000 % 60, milliseconds / 1_000 % 60]
        return clock.map { GregorianDay.padded($0, 2) }.joined(separator: ":")
            + ".\(GregorianDay.padded(milliseconds % 1_000, 3))"
    }

    static func escaped(_ text: String) -> String {
        text.replacingScalars("&", with: "&amp;").replacingScalars("<", with: "&lt;")
    }

    /// Returns a speaker's name as the annotation of a `<v>` tag: one line, without `<` and `>`.
    private static func voice(_ name: String) -> String {
        var name = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        while name.hasSuffix(":") { name.removeLast() }
        let kept = name.unicodeScalars.filter { $0 != "<" && $0 != ">" }
        return String(String.UnicodeScalarView(kept)).replacingScalars("&", with: "&amp;")
    }
}
