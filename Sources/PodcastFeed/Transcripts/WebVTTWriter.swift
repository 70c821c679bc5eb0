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

/// A writer of cues as WebVTT (https://www.w3.org/TR/webvtt1/).
///
/// Delays each cue until the next one is known, because a cue without an end ends where the next one starts. Joins cues
/// of single words into lines.
struct WebVTTWriter {
    private var output: [UInt8] = []
    private var pending: TranscriptCue?
    /// The number of cues written.
    private(set) var count = 0

    /// The maximum start and end of a cue in seconds. WebVTT has no limit, but players do.
    private static let latestTime = 1e6
    /// The limits for joining the words of one speaker into one cue: bytes of text (two lines of subtitles), seconds of
    /// duration, and seconds of silence between two words.
    private static let joinLimits = (length: 84, duration: 6.0, silence: 1.0)
    /// The reading speed in bytes per second, for the duration of a cue without an end if no later cue follows.
    private static let readingSpeed = 15.0

    /// Adds a cue.
    ///
    /// - Parameter joins: Whether the cue may be a part of a sentence, to be joined with the previous cue.
    mutating func add(_ cue: TranscriptCue, joins: Bool = false) {
        guard cue.start.isFinite, (0...Self.latestTime).contains(cue.start) else { return }
        var cue = cue
        cue.text = cue.text.split(whereSeparator: \.isNewline).map { line in
            line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }.filter { !$0.isEmpty }.joined(separator: "\n")
        if cue.text.isEmpty { return }
        if let end = cue.end, !(end > cue.start && end <= Self.latestTime) { cue.end = nil }
        if joins, let last = pending, let joint = Self.joined(last, cue) {
            pending = joint
            return
        }
        flush(next: cue.start)
        pending = cue
    }

    /// Returns the bytes written since the previous call.
    mutating func drainOutput() -> [UInt8] {
        defer { output.removeAll(keepingCapacity: true) }
        return output
    }

    mutating func finish() { flush(next: nil) }

    /// Returns the two cues joined into one. Returns `nil` if together they exceed a limit, if a cue has no end or has
    /// several lines, if the speakers differ, if `other` starts before `one`, or if `one` ends a sentence.
    private static func joined(_ one: TranscriptCue, _ other: TranscriptCue) -> TranscriptCue? {
        guard let end = one.end, let last = other.end, one.speaker == other.speaker, other.start >= one.start,
            other.start - end < joinLimits.silence, last - one.start <= joinLimits.duration,
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

    private mutating func flush(next: Double?) {
        guard let cue = pending else { return }
        pending = nil
        if count == 0 { output += Array("WEBVTT\n\n".utf8) }
        count += 1
        let reading = min(60, max(2, Double(cue.text.utf8.count) / Self.readingSpeed))
        let end = cue.end ?? next.flatMap { $0 > cue.start ? $0 : nil } ?? cue.start + reading
        var text = Self.time(cue.start) + " --> " + Self.time(end) + "\n"
        if let speaker = cue.speaker.map(Self.voice), !speaker.isEmpty { text += "<v \(speaker)>" }
        // An arrow would end the text of a cue.
        text += (cue.isMarkup ? cue.text : Self.escaped(cue.text)).replacingScalars("-->", with: "--&gt;")
        output += Array(text.utf8)
        output += [0x0A, 0x0A]
    }

    /// Formats a time as `HH:MM:SS.mmm`.
    private static func time(_ seconds: Double) -> String {
        let milliseconds = Int((seconds * 1_000).rounded())
        let clock = [milliseconds / 3_600_000, milliseconds / 60_000 % 60, milliseconds / 1_000 % 60]
        return clock.map { GregorianDay.padded($0, 2) }.joined(separator: ":")
            + ".\(GregorianDay.padded(milliseconds % 1_000, 3))"
    }

    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x26 || $0 == 0x3C }) else { return text }
        return text.replacingScalars("&", with: "&amp;").replacingScalars("<", with: "&lt;")
    }

    /// Returns a speaker's name as the annotation of a `<v>` tag: one line, without `<` and `>`.
    private static func voice(_ name: String) -> String {
        var name = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        while name.hasSuffix(":") { name.removeLast() }
        let kept = name.unicodeScalars.filter { $0 != "<" && $0 != ">" }
        return String(String.UnicodeScalarView(kept)).replacingScalars("&", with: "&amp;")
    }
}
