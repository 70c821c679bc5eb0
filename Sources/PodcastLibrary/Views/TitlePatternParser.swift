/// The parser and compiler of `TitlePattern`, a regular expression that is searched for in titles, ignoring case.
struct TitlePatternParser {
    /// A node of the syntax tree.
    indirect enum Node {
        case empty
        case step(TitlePattern.Instruction)
        case sequence([Node])
        case choice([Node])
        case repeated(Node, least: Int, most: Int?)
    }

    private let scalars: [Unicode.Scalar]
    private var position = 0
    /// The number of open parentheses.
    private var depth = 0
    /// The number of repetitions so far that repeat a repetition, such as the `{3}` of `a{2}{3}`.
    private var stacked = 0

    /// The maximum number of nested parentheses, and of repetitions that repeat a repetition. Both limit the depth of
    /// the syntax tree, and so the stack that the recursive compiler needs.
    private static let depthLimit = 50
    /// The maximum of a count in braces.
    private static let countLimit = 1_000
    /// The maximum number of compiled instructions.
    private static let programLimit = 5_000

    init(_ text: String) { scalars = Array(FileName.normalized(text).unicodeScalars) }

    mutating func parse() throws(ViewError) -> Node {
        let node = try choice()
        if position < scalars.count { throw error("the ')' at character \(position + 1) has no matching '('") }
        return node
    }

    // MARK: Grammar

    private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        position += 1
        return true
    }

    private func error(_ reason: String) -> ViewError { ViewError(message: reason) }

    private mutating func choice() throws(ViewError) -> Node {
        var branches = [try sequence()]
        while consume("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence() throws(ViewError) -> Node {
        var parts: [Node] = []
        while let next, next != "|", next != ")" {
            let part = try atom()
            parts.append(try repetition(of: part))
        }
        return parts.isEmpty ? .empty : parts.count == 1 ? parts[0] : .sequence(parts)
    }

    private mutating func repetition(of node: Node) throws(ViewError) -> Node {
        var node = node
        var isRepeated = false
        while let next {
            let bounds: (Int, Int?)
            switch next {
            case "*": bounds = (0, nil)
            case "+": bounds = (1, nil)
            case "?": bounds = (0, 1)
            case "{":
                guard let found = try braces() else { return node }
                bounds = found
                position -= 1
            default: return node
            }
            position += 1
            // Whether a repetition is greedy or lazy makes no difference to whether a title matches.
            _ = consume("?")
            if isRepeated { stacked += 1 }
            if stacked > Self.depthLimit {
                throw error("more than \(Self.depthLimit) repetitions follow another one, as in a{2}{3}")
            }
            isRepeated = true
            node = .repeated(node, least: bounds.0, most: bounds.1)
        }
        return node
    }

    /// Parses `{2}`, `{2,}` or `{2,4}`. Returns `nil` and consumes nothing if the brace is a literal.
    private mutating func braces() throws(ViewError) -> (Int, Int?)? {
        let start = position
        position += 1
        let least = number()
        var most = least
        if consume(",") { most = number() }
        guard let least, consume("}") else {
            position = start
            return nil
        }
        if max(least, most ?? 0) > Self.countLimit { throw error("a count is greater than \(Self.countLimit)") }
        if let most, most < least { throw error("{\(least),\(most)} has its counts in the wrong order") }
        return (least, most)
    }

    private mutating func number() -> Int? {
        var digits = ""
        while let next, ("0"..."9").contains(next), digits.count < 6 {
            digits.unicodeScalars.append(next)
            position += 1
        }
        return Int(digits)
    }

    private mutating func atom() throws(ViewError) -> Node {
        let start = position
        guard let scalar = next else { return .empty }
        position += 1
        switch scalar {
        case "(": return try group(from: start)
        case "[": return .step(.one(try brackets(from: start)))
        case ".": return .step(.one(.any))
        case "^": return .step(.start)
        case "$": return .step(.end)
        case "*", "+", "?":
            throw error("the '\(scalar)' at character \(start + 1) has nothing before it to repeat")
        case "\\":
            if consume("b") { return .step(.boundary(true)) }
            if consume("B") { return .step(.boundary(false)) }
            return .step(.one(try escape()))
        default: return .step(.one(Self.literal(scalar)))
        }
    }

    private mutating func group(from start: Int) throws(ViewError) -> Node {
        if consume("?"), !consume(":") {
            throw error("'(?\(next.map(String.init) ?? "")' is not supported; write (…) or (?:…)")
        }
        depth += 1
        defer { depth -= 1 }
        if depth > Self.depthLimit { throw error("there are more than \(Self.depthLimit) nested parentheses") }
        let node = try choice()
        guard consume(")") else { throw error("the '(' at character \(start + 1) is not closed") }
        return node
    }

    private mutating func escape() throws(ViewError) -> ScalarClass {
        guard let scalar = next else { throw error("it ends with a backslash") }
        position += 1
        switch scalar {
        case "d": return .digit
        case "D": return .digit.inverted
        case "w": return .word
        case "W": return .word.inverted
        case "s": return .space
        case "S": return .space.inverted
        case "t": return ScalarClass("\t")
        case _ where scalar.properties.isAlphabetic || ("0"..."9").contains(scalar):
            throw error("'\\\(scalar)' is not supported")
        default: return Self.literal(scalar)
        }
    }

    private mutating func brackets(from start: Int) throws(ViewError) -> ScalarClass {
        let isInverted = consume("^")
        var found = ScalarClass(ranges: [])
        var isFirst = true
        while let scalar = next, isFirst || scalar != "]" {
            isFirst = false
            let first = try member()
            guard next == "-", position + 1 < scalars.count, scalars[position + 1] != "]",
                let low = first.singleValue
            else {
                found.add(first)
                continue
            }
            position += 1
            guard let high = try member().singleValue, low <= high else {
                throw error("a range in the '[' at character \(start + 1) is in reverse order")
            }
            found.ranges.append(low...high)
            if let range = Self.lowerCase(low...high) { found.ranges.append(range) }
        }
        guard consume("]") else { throw error("the '[' at character \(start + 1) is not closed") }
        return isInverted ? found.inverted : found
    }

    private mutating func member() throws(ViewError) -> ScalarClass {
        guard let scalar = next else { return ScalarClass(ranges: []) }
        position += 1
        return scalar == "\\" ? try escape() : ScalarClass(scalar)
    }

    /// Returns the class of a literal character, in lower case like the titles.
    private static func literal(_ scalar: Unicode.Scalar) -> ScalarClass {
        ScalarClass(ScalarClass.folded(String(scalar)).first ?? scalar)
    }

    /// Returns the lower-case range of a range within `A` to `Z`; `nil` for any other range.
    private static func lowerCase(_ range: ClosedRange<UInt32>) -> ClosedRange<UInt32>? {
        range.lowerBound >= 0x41 && range.upperBound <= 0x5A
            ? range.lowerBound + 0x20...range.upperBound + 0x20 : nil
    }

    // MARK: Compiling

    /// Returns the instructions of a syntax tree.
    ///
    /// - Throws: `ViewError` if there are too many.
    static func compile(_ node: Node) throws(ViewError) -> [TitlePattern.Instruction] {
        var program: [TitlePattern.Instruction] = []
        try emit(node, &program)
        program.append(.found)
        return program
    }

    private static func emit(_ node: Node, _ program: inout [TitlePattern.Instruction]) throws(ViewError) {
        if program.count > programLimit { throw ViewError(message: "it is too long when its counts are expanded") }
        switch node {
        case .empty: break
        case .step(.one(let scalarClass)): program.append(.one(scalarClass.prepared))
        case .step(let instruction): program.append(instruction)
        case .sequence(let parts): for part in parts { try emit(part, &program) }
        case .choice(let branches):
            var jumps: [Int] = []
            for (index, branch) in branches.enumerated() {
                let split = program.count
                let isLast = index == branches.count - 1
                if !isLast { program.append(.split(split + 1, 0)) }
                try emit(branch, &program)
                if isLast { continue }
                jumps.append(program.count)
                program.append(.jump(0))
                program[split] = .split(split + 1, program.count)
            }
            for jump in jumps { program[jump] = .jump(program.count) }
        case .repeated(let part, let least, let most):
            let start = program.count
            for _ in 0..<least {
                try emit(part, &program)
                // A part without instructions matches only the empty text, so that its repetitions change nothing.
                if program.count == start { return }
            }
            guard let most else {
                let split = program.count
                program.append(.split(split + 1, 0))
                try emit(part, &program)
                program.append(.jump(split))
                program[split] = .split(split + 1, program.count)
                return
            }
            var splits: [Int] = []
            for _ in least..<max(least, most) {
                splits.append(program.count)
                program.append(.split(program.count + 1, 0))
                try emit(part, &program)
            }
            for split in splits { program[split] = .split(split + 1, program.count) }
        }
    }
}

extension ScalarClass {
    /// The scalar of a class that contains only one literal character; `nil` for any other class.
    fileprivate var singleValue: UInt32? {
        guard parts.isEmpty, !isInverted, !hasOtherLetters, ranges.count == 1, ranges[0].count == 1 else { return nil }
        return ranges[0].lowerBound
    }

    /// Adds a member of brackets.
    fileprivate mutating func add(_ other: ScalarClass) {
        if other.isInverted || other.hasOtherLetters || !other.parts.isEmpty {
            parts.append(other)
        } else {
            ranges += other.ranges
            for value in other.ranges where value.count == 1 && (0x41...0x5A).contains(value.lowerBound) {
                ranges.append(value.lowerBound + 0x20...value.lowerBound + 0x20)
            }
        }
    }
}
