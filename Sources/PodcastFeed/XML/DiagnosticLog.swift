/// The diagnostics of a document: corrected and skipped mistakes, each with its line.
struct DiagnosticLog {
    private(set) var diagnostics: [Diagnostic]
    var lines = LineCounter(line: 1)
    private let limit: Int
    private var addedOnce: Set<String> = []

    init(_ diagnostics: [Diagnostic], limit: Int) {
        self.diagnostics = diagnostics
        self.limit = limit
    }

    /// Whether another diagnostic would be stored. If not, callers need not build its message.
    var hasRoom: Bool { diagnostics.count <= limit }

    /// Adds a diagnostic, by default for the current line. The first one beyond the limit is replaced by a note that
    /// there are more.
    mutating func add(_ message: String, line: Int? = nil) {
        guard hasRoom else { return }
        diagnostics.append(
            Diagnostic(
                line: line ?? lines.current(),
                message: diagnostics.count < limit ? message : "there are more diagnostics; they are omitted"))
    }

    /// Adds a diagnostic once, however often the mistake occurs.
    mutating func addOnce(_ message: String) {
        if addedOnce.insert(message).inserted { add(message) }
    }
}

/// A counter of the lines before the scanner's position. Counts only when a line number is needed.
struct LineCounter {
    /// The line of the first byte after the counted ones.
    private(set) var line: Int
    /// The end of the counted bytes; `nil` while no buffer is being scanned.
    private var counted: UnsafePointer<UInt8>?
    /// The scanner's position in the buffer, which never moves back.
    var cursor: UnsafePointer<UInt8>?

    init(line: Int) { self.line = line }

    /// Starts counting in a buffer; the bytes before it are already counted.
    mutating func begin(at start: UnsafePointer<UInt8>) {
        counted = start
        cursor = start
    }

    /// Returns the line of the current position.
    mutating func current() -> Int {
        guard let start = counted, let cursor, cursor > start else { return line }
        var position = start
        while let found = position.firstOccurrence(of: UInt8(ascii: "\n"), before: cursor) {
            line += 1
            position = found + 1
        }
        counted = cursor
        return line
    }

    /// Counts up to `position` in a buffer whose memory may be moved or reused afterwards.
    mutating func end(at position: UnsafePointer<UInt8>) {
        cursor = position
        _ = current()
        (counted, cursor) = (nil, nil)
    }
}
