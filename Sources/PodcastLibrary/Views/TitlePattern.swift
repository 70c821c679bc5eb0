/// A regular expression that is searched for in titles, ignoring case.
///
/// The syntax is a subset of that of Perl's expressions: `.`, `[…]`, `\d`, `\w`, `\s`, `\b` and their opposites, `^`,
/// `$`, `|`, `(…)`, `(?:…)`, `*`, `+`, `?` and `{2,4}`. There are no back references and no lookaround, because the
/// matcher follows all alternatives at once (Thompson's algorithm, https://swtch.com/~rsc/regexp/). Its time is
/// therefore proportional to the length of the title, whatever the expression. Pure.
package struct TitlePattern: Sendable, Equatable {
    /// The expression as the user wrote it.
    package let text: String
    private let program: [Instruction]
    /// The ASCII characters with which a match can begin; `nil` if a match can be empty, or if the expression can begin
    /// with an anchor or a word boundary.
    private let beginnings: ASCIISet?

    /// One step of the compiled expression. Targets are indices of instructions.
    enum Instruction: Sendable, Equatable {
        /// Consumes a scalar that the class contains.
        case one(ScalarClass)
        case split(Int, Int)
        case jump(Int)
        case start
        case end
        /// A word boundary; with `false`, any other position.
        case boundary(Bool)
        /// The end of the expression: it matches.
        case found
    }

    /// The maximum number of steps for one title, about two for each character and instruction. An expression of 500
    /// bytes reaches the limit after a thousand characters of the title. An expression with large counts (`{2,4}`),
    /// which the compiler expands, reaches it after a hundred.
    static let stepLimit = 1_000_000

    /// Compiles an expression.
    ///
    /// - Throws: `ViewError` with the reason why the text is not a valid expression.
    package init(_ text: String) throws(ViewError) {
        self.text = text
        var parser = TitlePatternParser(text)
        program = try TitlePatternParser.compile(try parser.parse())
        beginnings = Self.beginnings(of: program)
    }

    /// Returns the ASCII characters that the first instructions consume; see the property `beginnings`.
    private static func beginnings(of program: [Instruction]) -> ASCIISet? {
        var pending = [0]
        var seen: Set<Int> = []
        var result = ASCIISet()
        while let index = pending.popLast() {
            guard seen.insert(index).inserted else { continue }
            switch program[index] {
            case .one(let scalarClass): result.formUnion(scalarClass.ascii)
            case .jump(let target): pending.append(target)
            case .split(let first, let second): pending += [first, second]
            case .start, .end, .boundary, .found: return nil
            }
        }
        return result
    }

    package static func == (one: Self, other: Self) -> Bool { one.text == other.text }

    /// Whether the expression matches a part of the title. `false` if the search takes more than `stepLimit` steps.
    package func matches(_ title: String) -> Bool {
        let scalars = ScalarClass.folded(title)
        var (current, next) = (Threads(program.count), Threads(program.count))
        var steps = 0
        for position in 0...scalars.count {
            // A match may begin at any position. If no match is in progress, skip positions where none can begin.
            if current.list.isEmpty, let beginnings {
                guard position < scalars.count else { break }
                let value = scalars[position].value
                if value < 128, !beginnings.contains(UInt8(value)) { continue }
                current.removeAll()
            }
            if follow(0, at: position, scalars, &current, &steps) { return true }
            guard position < scalars.count, steps < Self.stepLimit else { break }
            next.removeAll()
            for thread in current.list {
                guard case .one(let scalarClass) = program[thread], scalarClass.contains(scalars[position]) else {
                    continue
                }
                if follow(thread + 1, at: position + 1, scalars, &next, &steps) { return true }
            }
            swap(&current, &next)
        }
        return false
    }

    /// Adds to `threads` the instructions that consume a scalar and that the matcher can reach from `start` before it
    /// consumes any scalar.
    ///
    /// - Returns: Whether the end of the expression is reachable.
    private func follow(
        _ start: Int, at position: Int, _ title: [Unicode.Scalar], _ threads: inout Threads, _ steps: inout Int
    ) -> Bool {
        var pending = [start]
        while let index = pending.popLast() {
            steps += 1
            guard threads.visit(index) else { continue }
            switch program[index] {
            case .one: threads.list.append(index)
            case .jump(let target): pending.append(target)
            case .split(let first, let second): pending += [second, first]
            case .start: if position == 0 { pending.append(index + 1) }
            case .end: if position == title.count { pending.append(index + 1) }
            case .boundary(let isWanted):
                let before = position > 0 && ScalarClass.word.contains(title[position - 1])
                let after = position < title.count && ScalarClass.word.contains(title[position])
                if (before != after) == isWanted { pending.append(index + 1) }
            case .found: return true
            }
        }
        return false
    }

    /// The instructions that the matcher has reached at one position of the title.
    private struct Threads {
        var list: [Int] = []
        /// The round in which each instruction was last visited.
        private var visits: [Int]
        /// The current round. Each position of the title is one round; `removeAll` begins the next.
        private var round = 1

        init(_ count: Int) { visits = Array(repeating: 0, count: count) }

        /// Marks an instruction as visited. Returns whether this is its first visit at this position.
        mutating func visit(_ index: Int) -> Bool {
            if visits[index] == round { return false }
            visits[index] = round
            return true
        }

        mutating func removeAll() {
            list.removeAll(keepingCapacity: true)
            round += 1
        }
    }
}

/// A set of ASCII characters.
struct ASCIISet: Sendable, Equatable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    func contains(_ byte: UInt8) -> Bool { (byte < 64 ? low >> byte : high >> (byte - 64)) & 1 == 1 }

    mutating func insert(_ byte: UInt8) {
        if byte < 64 { low |= 1 << byte } else { high |= 1 << (byte - 64) }
    }

    mutating func formUnion(_ other: ASCIISet) {
        low |= other.low
        high |= other.high
    }
}

/// A set of Unicode scalars, ignoring case.
struct ScalarClass: Sendable, Equatable {
    var ranges: [ClosedRange<UInt32>]
    /// The classes of those escapes in brackets that cannot be expressed as ranges, such as `\W` in `[\W-]`.
    var parts: [ScalarClass] = []
    /// Whether all letters beyond ASCII belong to the set.
    var hasOtherLetters = false
    var isInverted = false
    /// The members in ASCII; empty until `prepared`.
    private(set) var ascii = ASCIISet()

    static let any = ScalarClass(ranges: [0...0x10FFFF])
    static let digit = ScalarClass(ranges: [0x30...0x39])
    static let space = ScalarClass(ranges: [0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x2000...0x200A, 0x3000...0x3000])
    /// Letters, digits and the underscore.
    static let word = ScalarClass(
        ranges: [0x30...0x39, 0x5F...0x5F, 0x61...0x7A, 0x41...0x5A], hasOtherLetters: true
    ).prepared

    init(ranges: [ClosedRange<UInt32>], hasOtherLetters: Bool = false) {
        (self.ranges, self.hasOtherLetters) = (ranges, hasOtherLetters)
    }

    init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }

    var inverted: ScalarClass {
        var copy = self
        copy.isInverted.toggle()
        return copy
    }

    /// A copy in which the bitmap `ascii` is computed, so that the lookup of an ASCII character takes one step.
    var prepared: ScalarClass {
        var copy = self
        copy.ascii = ASCIISet()
        for byte in UInt8(0)..<128 where search(Unicode.Scalar(byte)) { copy.ascii.insert(byte) }
        return copy
    }

    /// Whether the class, which must be prepared, contains a scalar of a folded title.
    func contains(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 128 ? ascii.contains(UInt8(scalar.value)) : search(scalar)
    }

    private func search(_ scalar: Unicode.Scalar) -> Bool {
        var isIn = has(scalar.value) || hasOtherLetters && scalar.value > 0x7F && scalar.properties.isAlphabetic
        if !isIn, let upper = Self.only(scalar.properties.uppercaseMapping), upper != scalar { isIn = has(upper.value) }
        return (isIn || parts.contains { $0.search(scalar) }) != isInverted
    }

    private func has(_ value: UInt32) -> Bool { ranges.contains { $0.contains(value) } }

    /// Returns a title's scalars in Normalization Form C and lower case.
    static func folded(_ title: String) -> [Unicode.Scalar] {
        FileName.normalized(title).unicodeScalars.map { scalar in
            if scalar.isASCII {
                return (0x41...0x5A).contains(scalar.value)
                    ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar
            }
            return only(scalar.properties.lowercaseMapping) ?? scalar
        }
    }

    /// Returns the scalar of a case mapping; `nil` if the mapping has several.
    private static func only(_ mapping: String) -> Unicode.Scalar? {
        let scalars = mapping.unicodeScalars
        return scalars.count == 1 ? scalars.first : nil
    }
}
