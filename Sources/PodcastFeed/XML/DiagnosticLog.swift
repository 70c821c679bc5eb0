/// What was mended or passed over in a document, with the line at which it stands.
struct DiagnosticLog {
    private(set) var diagnostics: [Diagnostic]
    var lines = LineCounter(line: 1)
    private let limit: Int
    private var notedOnce: Set<String> = []

    init(_ diagnostics: [Diagnostic], limit: Int) {
        self.diagnostics = diagnostics
        self.limit = limit
    }

    /// Whether one more would be kept, so that composing it is worth its trouble.
    var hasRoom: Bool { diagnostics.count <= limit }

    mutating func note(_ message: String, line: Int? = nil) {
        guard hasRoom else { return }
        diagnostics.append(
            Diagnostic(
                line: line ?? lines.current(),
                message: diagnostics.count < limit ? message : "there are more diagnostics; they are left out"))
    }

    /// Notes something that is the same wherever it is met again.
    mutating func noteOnce(_ message: String) {
        if notedOnce.insert(message).inserted { note(message) }
    }
}

/// The line that a scanner has reached, counted when somebody asks.
struct LineCounter {
    /// The line of the byte up to which was counted.
    private(set) var line: Int
    private var counted: UnsafePointer<UInt8>?
    /// The byte that is looked at; not before the last one.
    var cursor: UnsafePointer<UInt8>?

    init(line: Int) {
        self.line = line
    }

    /// The bytes that are counted begin here; what stood before them has been.
    mutating func begin(at start: UnsafePointer<UInt8>) {
        counted = start
        cursor = start
    }

    mutating func current() -> Int {
        guard let start = counted, let cursor, cursor > start else { return line }
        line += FeedBytes(start: start, count: cursor - start).count { $0 == UInt8(ascii: "\n") }
        counted = cursor
        return line
    }

    /// The bytes from here on move elsewhere.
    mutating func end(at place: UnsafePointer<UInt8>) {
        cursor = place
        _ = current()
        (counted, cursor) = (nil, nil)
    }
}
