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
        var index = 0
        while index < piece.count {
            let clean = Self.cleanCount(FeedBytes(rebasing: piece[index...]))
            block.append(FeedBytes(rebasing: piece[index..<index + clean]))
            index += clean
            guard index < piece.count else { return }
            index += step(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(piece)[index...]), into: &block)
        }
    }

    /// Returns the number of leading bytes that are clean, complete characters. May stop early at a rare character,
    /// which `step` then processes.
    private static func cleanCount(_ bytes: FeedBytes) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        var index = 0
        while index < bytes.count {
            while index + 4 * ByteWord.size <= bytes.count {
                let start = base + index
                let (one, two) = (ByteWord(at: start), ByteWord(at: start + ByteWord.size))
                let (three, four) = (ByteWord(at: start + 2 * ByteWord.size), ByteWord(at: start + 3 * ByteWord.size))
                let high = one.beyondASCII | two.beyondASCII | three.beyondASCII | four.beyondASCII
                let low = one.below(0x20) | two.below(0x20) | three.below(0x20) | four.below(0x20)
                guard high | low == 0 else { break }
                index += 4 * ByteWord.size
            }
            // Line feeds and non-ASCII characters are frequent, so neither may end the fast path. The next bytes are
            // checked one character at a time, then whole words again.
            let stop = min(index + ByteWord.size, bytes.count)
            while index < stop {
                let length = base[index] < 0x80 ? 1 : commonLength(base + index, bytes.count - index)
                guard length > 1 || (length == 1 && isPlain(base[index])) else { return index }
                index += length
            }
        }
        return index
    }

    /// Returns the length of a complete character whose lead byte permits any continuation bytes after it. Returns 0
    /// for all other characters, which `step` checks.
    @inline(__always)
    private static func commonLength(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        switch start[0] {
        case 0xC2...0xDF:
            return count >= 2 && start[1] & 0xC0 == 0x80 ? 2 : 0
        case 0xE1...0xEC, 0xEE:
            return count >= 3 && start[1] & 0xC0 == 0x80 && start[2] & 0xC0 == 0x80 ? 3 : 0
        // U+FFFE and U+FFFF, which XML does not allow, start with EF BF.
        case 0xEF:
            return count >= 3 && start[1] & 0xC0 == 0x80 && start[1] != 0xBF && start[2] & 0xC0 == 0x80 ? 3 : 0
        default:
            return 0
        }
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte >= 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09)
    }

    /// Writes an incomplete character at the end of the document, read as Windows-1252.
    mutating func finish(into block: inout ByteBuffer) {
        for byte in held { repair(byte, into: &block) }
    }

    private mutating func repair(_ byte: UInt8, into block: inout ByteBuffer) {
        record(.repair, at: block.count)
        block.append(UTF8.encode(Windows1252.scalar(byte)) ?? UTF8.encodedReplacementCharacter)
    }

    /// Processes one character, one invalid byte, or the start of a character that continues in the next piece.
    ///
    /// - Returns: The number of consumed bytes.
    @inline(__always)
    private mutating func step(_ rest: UnsafeRawBufferPointer, into block: inout ByteBuffer) -> Int {
        let byte = rest[0]
        if byte < 0x80 {
            if Self.isPlain(byte) {
                block.append(byte)
            } else {
                record(.omission, at: block.count)
            }
            return 1
        }
        switch Self.sequenceLength(rest) {
        case .complete(let length):
            // XML does not allow U+FFFE and U+FFFF.
            if length == 3, byte == 0xEF, rest[1] == 0xBF, rest[2] >= 0xBE {
                record(.omission, at: block.count)
            } else {
                for index in 0..<length { block.append(rest[index]) }
            }
            return length
        case .invalid:
            repair(byte, into: &block)
            return 1
        case .incomplete:
            held = Array(rest)
            return rest.count
        }
    }

    /// Returns a whole text without characters that XML does not allow, and with those of Windows-1252 as UTF-8. An
    /// incomplete character at its end is omitted.
    static func cleaned(_ text: FeedBytes) -> [UInt8] {
        var cleaner = UTF8Cleaner()
        var block = ByteBuffer(capacity: text.count + 32)
        cleaner.clean(text, into: &block)
        return Array(block.contents)
    }

    enum SequenceLength {
        case complete(Int)
        case incomplete
        case invalid
    }

    /// Returns the length of the first character, by the Unicode Standard's table 3-7 of well-formed sequences.
    @inline(__always)
    static func sequenceLength(_ bytes: UnsafeRawBufferPointer) -> SequenceLength {
        let lead = bytes[0]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0x00...0x7F: return .complete(1)
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        case 0xF1...0xF3: length = 4
        default: return .invalid
        }
        for index in 1..<length {
            guard index < bytes.count else { return .incomplete }
            guard index == 1 ? second.contains(bytes[1]) : bytes[index] & 0xC0 == 0x80 else { return .invalid }
        }
        return .complete(length)
    }

    /// Returns at most `limit` leading bytes, without an incomplete character at their end.
    static func prefix(_ bytes: FeedBytes, _ limit: Int) -> FeedBytes {
        bytes.count <= limit ? bytes : wholeCharacters(FeedBytes(rebasing: bytes[..<limit]))
    }

    /// Returns the text without an incomplete character at its end.
    static func wholeCharacters(_ bytes: FeedBytes) -> FeedBytes {
        guard let lead = bytes.lastIndex(where: { $0 & 0xC0 != 0x80 }), bytes[lead] >= 0xC0 else { return bytes }
        let rest = UnsafeRawBufferPointer(FeedBytes(rebasing: bytes[lead...]))
        if case .complete(rest.count) = sequenceLength(rest) { return bytes }
        return FeedBytes(rebasing: bytes[..<lead])
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

    /// Nonzero if there are non-ASCII bytes.
    @inline(__always)
    var beyondASCII: UInt64 { bits & Self.highBits }

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
