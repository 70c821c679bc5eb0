/// A time at the beginning or end of a line of show notes: `1:02:33`, `12:34`, `(00:00)`.
struct NotesTime {
    var seconds: Double
    var hasHours: Bool
    /// Whether the minutes have at least two digits, or there are hours.
    var isPadded: Bool
    var isBracketed = false

    private static let openers: Set<Character> = ["(", "[", "{", "（", "【"]
    private static let closers: Set<Character> = [")", "]", "}", "）", "】"]
    private static let separators: Set<Character> = ["-", "–", "—", "−", ":", "|", "•", "·", "»", "›", ">", "→", "="]
    /// Words after a time that make it a time of day.
    private static let clockWords: Set<String> = [
        "am", "pm", "a.m", "p.m", "uhr", "h", "hrs", "o'clock", "o’clock", "et", "est", "edt", "ct", "cst",
        "mt", "pt", "pst", "pdt", "gmt", "utc", "bst", "cet", "cest",
    ]
    /// The clock words that, spelled like this, may also begin a title: `12:34 Et maintenant`, `10:20 CT scans`,
    /// `5:10 H. G. Wells`. Such a word makes a time of day only if nothing but punctuation follows it, as in `9:00 ET`.
    /// `9:00 ET Opening` therefore counts as a line with a title. A schedule of such lines is still no list of chapters
    /// unless it begins within minutes after midnight (see `NotesChapters`).
    private static let titleWords: Set<String> = [
        "Am", "Est", "est", "ET", "Et", "et", "CT", "Ct", "ct", "MT", "Mt", "mt", "PT", "Pt", "pt", "H", "h",
    ]

    /// Returns the time at the start of a line, after list marks and brackets, and the title after it.
    static func leading(_ line: String) -> (time: NotesTime, title: String)? {
        var rest = afterItemNumber(line)
        // Skips list marks, arrows and pictographs; a currency sign means that a price follows.
        while let first = rest.first, !first.isNumber {
            guard !first.isLetter, !first.isCurrencySymbol else { return nil }
            let isOpener = openers.contains(first)
            rest = rest.dropFirst()
            if isOpener {
                rest = rest.drop(while: \.isWhitespace)
                break
            }
        }
        let isBracketed =
            rest.startIndex > line.startIndex && openers.contains(line[line.index(before: rest.startIndex)])
        guard var (time, after) = time(at: rest) else { return nil }
        // `00:00 - 02:15` is a range of times; `3:16-18` is a range of Bible verses.
        let end = after.drop(while: \.isWhitespace)
        if let sign = end.first, "-–—".contains(sign) {
            let next = end.dropFirst().drop(while: \.isWhitespace)
            if let range = Self.time(at: next) {
                after = range.after
            } else if end.startIndex == after.startIndex, next.first?.isNumber ?? false {
                return nil
            }
        }
        guard !isTimeOfDayOrPrice(after) else { return nil }
        let isClosed = after.drop(while: \.isWhitespace).first.map(closers.contains) ?? false
        time.isBracketed = isBracketed && isClosed
        let title = after.drop { $0.isWhitespace || closers.contains($0) || separators.contains($0) || $0 == "." }
        return (time, String(title))
    }

    /// Returns the time at the end of a line, in brackets or after a separator such as a dash, and the title before it.
    static func trailing(_ line: String) -> (title: String, time: NotesTime)? {
        var rest = line[...]
        while let last = rest.last, last.isWhitespace || last == "." { rest = rest.dropLast() }
        let isClosed = rest.last.map(closers.contains) ?? false
        if isClosed { rest = rest.dropLast() }
        let digits = rest.reversed().prefix { $0.isASCII && $0.isNumber || $0 == ":" }.count
        let start = rest.index(rest.endIndex, offsetBy: -digits)
        guard let (found, after) = time(at: rest[start...]), after.isEmpty else { return nil }
        var time = found
        var title = rest[..<start]
        guard let before = title.last(where: { !$0.isWhitespace }) else { return nil }
        time.isBracketed = isClosed && openers.contains(before)
        guard time.isBracketed || !isClosed && separators.contains(before) else { return nil }
        while let last = title.last, last.isWhitespace || openers.contains(last) || separators.contains(last) {
            title = title.dropLast()
        }
        guard title.contains(where: \.isLetter) else { return nil }
        return (String(title), time)
    }

    /// Returns the line without a leading item number, such as `1.` or `2)`, and the space after it.
    private static func afterItemNumber(_ line: String) -> Substring {
        let digits = line.prefix { $0.isASCII && $0.isNumber }
        let rest = line[digits.endIndex...]
        guard (1...3).contains(digits.count), rest.first == "." || rest.first == ")",
            rest.dropFirst().first?.isWhitespace ?? false
        else { return line[...] }
        return rest.dropFirst(2)
    }

    /// Parses a time: minutes and seconds, with or without hours and a fraction; `nil` if the text starts with none.
    private static func time(at text: Substring) -> (time: NotesTime, after: Substring)? {
        var rest = text
        var parts: [Substring] = []
        while parts.count < 3 {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty, digits.count <= 3, parts.isEmpty || digits.count == 2 else { return nil }
            parts.append(digits)
            rest = rest[digits.endIndex...]
            guard rest.first == ":", rest.dropFirst().first?.isNumber ?? false else { break }
            guard parts.count < 3 else { return nil }
            rest = rest.dropFirst()
        }
        let values = parts.compactMap { Double($0) }
        guard values.count == parts.count, values.count >= 2, let last = values.last, last < 60,
            values.count == 2 || values[1] < 60
        else { return nil }
        var seconds = values.reduce(0) { $0 * 60 + $1 }
        if rest.first == ".", let digits = Optional(rest.dropFirst().prefix { $0.isASCII && $0.isNumber }),
            (1...3).contains(digits.count), let fraction = Double("0.\(digits)")
        {
            seconds += fraction
            rest = rest[digits.endIndex...]
        }
        guard !(rest.first?.isNumber ?? false), !(rest.first?.isLetter ?? false) else { return nil }
        let isPadded = values.count == 3 || parts[0].count >= 2
        return (NotesTime(seconds: seconds, hasHours: values.count == 3, isPadded: isPadded), rest)
    }

    /// Returns whether the text after a time makes it a time of day, a price or a percentage.
    private static func isTimeOfDayOrPrice(_ after: Substring) -> Bool {
        let rest = after.drop(while: \.isWhitespace)
        guard let first = rest.first else { return false }
        if first.isCurrencySymbol || first == "%" || first == "/" { return true }
        // A comma directly after a time belongs to a price or a list of verses.
        if rest.startIndex == after.startIndex, first == "," { return true }
        var word = rest.prefix { $0.isLetter || ".'’".contains($0) }
        let following = rest[word.endIndex...]
        while word.last == "." { word.removeLast() }
        if titleWords.contains(String(word)) { return !following.contains { $0.isLetter || $0.isNumber } }
        return clockWords.contains(word.lowercased())
    }
}
