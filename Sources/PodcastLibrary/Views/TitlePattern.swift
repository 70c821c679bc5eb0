/// A regular expression that is searched in titles, ignoring case.
///
/// The syntax is the common part of POSIX's extended and Perl's expressions: `.`, `[…]`, `\d`, `\w`, `\s`, `\b` and
/// their opposites, `^`, `$`, `|`, `(…)`, `(?:…)`, `*`, `+`, `?` and `{2,4}`. There are no back references and no
/// lookaround: the matcher follows all alternatives at once (Thompson's algorithm, https://swtch.com/~rsc/regexp/), so
/// its time is proportional to the length of the title, whatever the expression. Pure.
package struct TitlePattern: Sendable, Equatable {
    /// The expression as the user wrote it.
    package let text: String
    private let program: [Instruction]

    /// One step of the compiled expression. Targets are indices of instructions.
    enum Instruction: Sendable, Equatable {
        /// Consumes a scalar that the class contains.
        case one(ScalarClass)
        case split(Int, Int)
        case jump(Int)
        case start
        case end
        /// A boundary of a word, or with `false` its absence.
        case boundary(Bool)
        case found
    }

    /// The maximum number of steps for one title. An expression of the maximum size needs as many for some thousand
    /// characters; titles are shorter.
    static let stepLimit = 1_000_000

    /// - Throws: a `ViewError` that says what is wrong with the expression.
    package init(_ text: String) throws(ViewError) {
        self.text = text
        var parser = TitlePatternParser(text)
        program = try TitlePatternParser.compile(try parser.parse())
    }

    package static func == (one: Self, other: Self) -> Bool { one.text == other.text }

    /// Whether the expression matches a part of the title; `false` if the search takes more than `stepLimit` steps.
    package func matches(_ title: String) -> Bool {
        let scalars = ScalarClass.folded(title)
        var (current, next) = (Threads(program.count), Threads(program.count))
        var steps = 0
        for position in 0...scalars.count {
            // A match may start anywhere.
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

    /// Adds the instructions that consume a scalar and are reachable from `start` without consuming one.
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
        private var seen: [Bool]

        init(_ count: Int) { seen = Array(repeating: false, count: count) }

        /// Returns whether the instruction is visited for the first time at this position.
        mutating func visit(_ index: Int) -> Bool {
            if seen[index] { return false }
            seen[index] = true
            return true
        }

        mutating func removeAll() {
            list.removeAll(keepingCapacity: true)
            for index in seen.indices { seen[index] = false }
        }
    }
}

/// A set of Unicode scalars, without case.
struct ScalarClass: Sendable, Equatable {
    var ranges: [ClosedRange<UInt32>]
    /// The classes named by escapes in brackets, such as `\d` in `[\d-]`.
    var parts: [ScalarClass] = []
    var isInverted = false

    static let any = ScalarClass(ranges: [0...0x10FFFF])
    static let digit = ScalarClass(ranges: [0x30...0x39])
    static let space = ScalarClass(ranges: [0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x2000...0x200A, 0x3000...0x3000])
    /// Letters, digits and the underscore; beyond ASCII, all letters of the Basic Multilingual Plane by their property.
    static let word = ScalarClass(ranges: [0x30...0x39, 0x5F...0x5F, 0x61...0x7A, 0x41...0x5A], parts: [.otherLetters])
    /// Stands for the letters beyond ASCII, which are found by their property.
    private static let otherLetters = ScalarClass(ranges: [])

    init(ranges: [ClosedRange<UInt32>], parts: [ScalarClass] = []) { (self.ranges, self.parts) = (ranges, parts) }

    init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }

    var inverted: ScalarClass {
        var copy = self
        copy.isInverted.toggle()
        return copy
    }

    /// - Parameter scalar: a scalar of a folded title.
    func contains(_ scalar: Unicode.Scalar) -> Bool {
        if self == .otherLetters { return scalar.value > 0x7F && scalar.properties.isAlphabetic }
        var isIn = has(scalar.value)
        if !isIn, let upper = Self.only(scalar.properties.uppercaseMapping), upper != scalar { isIn = has(upper.value) }
        return (isIn || parts.contains { $0.contains(scalar) }) != isInverted
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

    /// Returns the scalar of a mapping to one scalar.
    private static func only(_ mapping: String) -> Unicode.Scalar? {
        let scalars = mapping.unicodeScalars
        return scalars.count == 1 ? scalars.first : nil
    }
}
