/// A filter that copies text into blocks of valid UTF-8: characters not allowed in XML are omitted, and bytes that are
/// not UTF-8 are read as Windows-1252.
///
/// All later stages may rely on complete, valid characters. The input comes in pieces, which may be cut anywhere, even
/// inside a character. The output does not depend on where the pieces are cut.
struct UTF8Cleaner {
    /// The incomplete character at the end of the previous piece, at most three bytes; empty if there is none.
    private var held: [UInt8] = []
    /// The offset in the block of the first mistake of each kind; `nil` if there was none since the caller last set the
    /// element to `nil`.
    var first: InlineArray<2, Int?> = [nil, nil]

    enum Mistake: Int, CaseIterable {
        /// Bytes that are not UTF-8 were read as Windows-1252.
        case repair
        /// Characters that XML does not allow were removed.
        case omission
    }

    private mutating func record(_ mistake: Mistake, at offset: Int) {
        if first[mistake.rawValue] == nil { first[mistake.rawValue] = offset }
    }

    /// Cleans the next piece of the text, and appends it to the block.
    mutating func clean(_ piece: FeedBytes, into block: inout ByteBuffer) {
        if !held.isEmpty {
            let joined = held + piece
            held = []
            return joined.withUnsafeBufferPointer { clean($0, into: &block) }
        }
        // Feeds in English are all plain.
        let plain = Self.plainCount(piece)
        block.append(FeedBytes(rebasing: piece[..<plain]))
        held = Self.divide(FeedBytes(rebasing: piece[plain...])) { part, isValid in
            if isValid { appendAllowed(part, to: &block) } else { repair(part[0], into: &block) }
        }
    }

    /// Returns the number of leading bytes that are printable ASCII, tabs and line ends; at most a few less, if other
    /// bytes follow.
    private static func plainCount(_ bytes: FeedBytes) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        var index = 0
        while index + 4 * ByteWord.size <= bytes.count {
            let start = base + index
            let (one, two) = (ByteWord(at: start), ByteWord(at: start + ByteWord.size))
            let (three, four) = (ByteWord(at: start + 2 * ByteWord.size), ByteWord(at: start + 3 * ByteWord.size))
            let other = one.beyondPrintable | two.beyondPrintable | three.beyondPrintable | four.beyondPrintable
            if other != 0 {
                let end = index + 4 * ByteWord.size
                while index < end, isPlain(base[index]) { index += 1 }
                if index < end { return index }
            } else {
                index += 4 * ByteWord.size
            }
        }
        return index
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte >= 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09)
    }

    /// Appends valid text without the characters that XML does not allow: control characters, U+FFFE and U+FFFF.
    private mutating func appendAllowed(_ text: FeedBytes, to block: inout ByteBuffer) {
        var (start, index) = (0, 0)
        while true {
            index = text.firstIndex(
                from: index, word: { $0.below(0x20) | $0.equal(0xEF) }, byte: { $0 < 0x20 || $0 == 0xEF })
            guard index < text.count else { break }
            let length =
                switch text[index] {
                case 0x09, 0x0A, 0x0D: 0
                case 0xEF: text[index + 1] == 0xBF && text[index + 2] >= 0xBE ? 3 : 0
                default: 1
                }
            if length > 0 {
                block.append(FeedBytes(rebasing: text[start..<index]))
                record(.omission, at: block.count)
                start = index + length
            }
            index += max(1, length)
        }
        block.append(FeedBytes(rebasing: text[start...]))
    }

    /// Writes an incomplete character at the end of the document, read as Windows-1252.
    mutating func finish(into block: inout ByteBuffer) {
        for byte in held { repair(byte, into: &block) }
    }

    private mutating func repair(_ byte: UInt8, into block: inout ByteBuffer) {
        record(.repair, at: block.count)
        block.append(UTF8.encode(Windows1252.scalar(byte)) ?? UTF8.encodedReplacementCharacter)
    }

    /// Returns a whole text without characters that XML does not allow, and with those of Windows-1252 as UTF-8. An
    /// incomplete character at its end is omitted.
    static func cleaned(_ text: FeedBytes) -> [UInt8] {
        var cleaner = UTF8Cleaner()
        var block = ByteBuffer(capacity: text.count + 32)
        cleaner.clean(text, into: &block)
        return Array(block.contents)
    }

    /// Passes the valid parts of a text and each byte between them that is not UTF-8 to `body`, in order.
    ///
    /// - Returns: The start of a character that continues after the text, at most three bytes.
    static func divide(_ text: FeedBytes, _ body: (_ part: FeedBytes, _ isValid: Bool) -> Void) -> [UInt8] {
        var rest = text
        while !rest.isEmpty {
            var (valid, isCut) = (rest.count, false)
            do throws(UTF8.ValidationError) {
                _ = try UTF8Span(validating: rest.span)
            } catch {
                valid = error.byteOffsets.lowerBound
                isCut = error.kind == .truncatedScalar && error.byteOffsets.upperBound == rest.count
            }
            if valid > 0 { body(FeedBytes(rebasing: rest[..<valid]), true) }
            rest = FeedBytes(rebasing: rest[valid...])
            if isCut { return Array(rest) }
            if rest.isEmpty { break }
            body(FeedBytes(rebasing: rest[..<1]), false)
            rest = FeedBytes(rebasing: rest[1...])
        }
        return []
    }

    /// Returns at most `limit` leading bytes, without an incomplete character at their end.
    static func prefix(_ bytes: FeedBytes, _ limit: Int) -> FeedBytes {
        bytes.count <= limit ? bytes : wholeCharacters(FeedBytes(rebasing: bytes[..<limit]))
    }

    /// Returns the text without an incomplete character at its end.
    static func wholeCharacters(_ bytes: FeedBytes) -> FeedBytes {
        guard let lead = bytes.lastIndex(where: { $0 & 0xC0 != 0x80 }), bytes[lead] >= 0xC0 else { return bytes }
        return divide(FeedBytes(rebasing: bytes[lead...])) { _, _ in }.isEmpty
            ? bytes : FeedBytes(rebasing: bytes[..<lead])
    }
}

/// Eight bytes examined together (Sean Anderson, “Bit Twiddling Hacks”: `hasless`, `haszero`).
///
/// Each test returns 0 if no byte matches, so that the results of several tests can be combined for one branch.
struct ByteWord {
    private let bits: UInt64

    static let size = 8
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits = ones &* 0x80

    /// - Parameter start: The address of eight bytes, of any alignment.
    @inline(__always)
    init(at start: UnsafePointer<UInt8>) { bits = UnsafeRawPointer(start).loadUnaligned(as: UInt64.self) }

    /// Nonzero if there are non-ASCII bytes or bytes below 0x20.
    @inline(__always)
    var beyondPrintable: UInt64 { (bits | (bits &- Self.ones &* 0x20)) & Self.highBits }

    /// Nonzero if there are bytes below a limit of at most 0x80.
    @inline(__always)
    func below(_ limit: UInt8) -> UInt64 { (bits &- Self.ones &* UInt64(limit)) & ~bits & Self.highBits }

    /// Nonzero if there are bytes with this value.
    @inline(__always)
    func equal(_ byte: UInt8) -> UInt64 {
        let others = bits ^ Self.ones &* UInt64(byte)
        return (others &- Self.ones) & ~others & Self.highBits
    }
}

extension FeedBytes {
    /// Returns the index of the first byte from `start` on for which `byte` is true; the end if there is none. Whole
    /// words for which `word` is 0 are skipped.
    @inline(__always)
    func firstIndex(from start: Int, word: (ByteWord) -> UInt64, byte: (UInt8) -> Bool) -> Int {
        guard let base = baseAddress else { return count }
        var index = start
        while index + ByteWord.size <= count, word(ByteWord(at: base + index)) == 0 { index += ByteWord.size }
        while index < count, !byte(self[index]) { index += 1 }
        return index
    }
}
