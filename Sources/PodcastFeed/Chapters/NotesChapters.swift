/// Chapters that a publisher lists in the show notes as lines with a time and a title.
///
/// A single time in the notes may be a price, a Bible verse, a ratio or a time of day. Chapters are therefore only read
/// from a list: at least three lines of the same form, in ascending order, that begin at or near the episode's start.
package enum NotesChapters {
    /// The minimum number of lines, as on YouTube.
    private static let minCount = 3
    /// The maximum number of lines.
    private static let maxCount = 1_000
    /// The minimum distance between two chapters in seconds. Consecutive Bible verses (3:16, 3:17), read as times,
    /// differ by one second.
    private static let minDistance = 5.0
    /// The maximum number of bytes of the notes that are read.
    private static let limit = 256 << 10
    /// The maximum length of a title in characters.
    private static let titleLimit = 500

    /// Returns the chapters in show notes; empty if the notes have no list of chapters.
    ///
    /// - Parameters:
    ///   - notes: HTML or plain text.
    ///   - duration: The episode's duration in seconds, if known: times at or after it are not chapters.
    package static func chapters(in notes: String, duration: Double?) -> [Chapter] {
        guard hasTimes(notes) else { return [] }
        var leading = List()
        var trailing = List()
        /// The time of a line without a title; the next line contains the title.
        var untitled: NotesTime?
        for line in NotesLines.lines(of: notes, limit: limit) {
            if let (time, title) = NotesTime.leading(line) {
                untitled = title.isEmpty ? time : nil
                if !title.isEmpty { leading.add(time, title) }
            } else if let (title, time) = NotesTime.trailing(line) {
                untitled = nil
                trailing.add(time, title)
            } else if let time = untitled {
                untitled = nil
                leading.add(time, line)
            }
        }
        return leading.chapters(until: duration) ?? trailing.chapters(until: duration) ?? []
    }

    /// Whether the text contains enough times to be a list; a fast test, since most notes contain none.
    private static func hasTimes(_ notes: String) -> Bool {
        var notes = notes
        return notes.withUTF8 { bytes in
            var count = 0
            for index in bytes.indices.dropFirst().dropLast(2)
            where bytes[index] == UInt8(ascii: ":") && bytes[index - 1].isDigit && bytes[index + 1].isDigit
                && bytes[index + 2].isDigit
            {
                count += 1
                if count == minCount { return true }
            }
            return false
        }
    }

    /// The lines of one form: with the time at the beginning, or at the end.
    private struct List {
        private var lines: [(time: NotesTime, title: String)] = []

        mutating func add(_ time: NotesTime, _ title: String) {
            if lines.count < NotesChapters.maxCount { lines.append((time, title)) }
        }

        /// Returns the chapters; `nil` if the lines do not form a list of them.
        func chapters(until duration: Double?) -> [Chapter]? {
            let times = lines.map(\.time)
            let isAscending = zip(times, times.dropFirst()).allSatisfy {
                $1.seconds >= $0.seconds + NotesChapters.minDistance
            }
            guard isAscending, let first = times.first?.seconds, first <= latestFirst else { return nil }
            let inside = lines.filter { $0.time.seconds < duration ?? .infinity }
            if inside.count < NotesChapters.minCount { return nil }
            return inside.map {
                Chapter(start: $0.time.seconds, title: String($0.title.prefix(NotesChapters.titleLimit)))
            }
        }

        /// The latest start of the first chapter in seconds. Other lists of times (verses, a schedule) rarely begin at
        /// zero, and are rarely in brackets or with hours.
        private var latestFirst: Double {
            if lines.allSatisfy(\.time.isBracketed) || lines.allSatisfy(\.time.hasHours) { return 900 }
            return lines.allSatisfy(\.time.isPadded) ? 300 : 0
        }
    }
}
