import Foundation

/// A text reduced to what survives in a file name, whichever program has written the name.
///
/// Programs replace or drop punctuation, white space and accents, and some drop every letter that is not ASCII. Letters
/// and digits remain, in their order. Two texts with equal keys may still differ in their numbers: `Episode 1.5` and
/// `Episode 15`. So the numbers are compared on their own.
struct ComparisonKey: Hashable, Sendable {
    /// The letters and digits, without case and accents.
    var letters = ""
    /// The ASCII letters in their case.
    private var cased = ""
    /// The length of `letters`, in characters of one scalar.
    var count = 0
    /// The words and numbers of which `letters` consists.
    var words: [String] = []
    /// The numbers, in their order.
    var numbers: [String] = []
    /// The numbers if a mark between two digits (`10,000`, `24/7`) is dropped, which joins them.
    var joinedNumbers: [String] = []
    /// The numbers if a period is dropped as well (`03.02.2022`, `1.5`).
    var undottedNumbers: [String] = []
    /// The ASCII letters and digits; `nil` if there are no others, or too few ASCII ones to recognize the text.
    var ascii: String?

    /// - Parameter joinsNumbers: Whether to determine `joinedNumbers` and `undottedNumbers`, which only the side needs
    ///   that is not a file name.
    init(_ text: String, joinsNumbers: Bool = false) {
        var word = ""
        var ascii = ""
        var plain = NumberReader(joining: [])
        var joined = NumberReader(joining: [",", ":", "/", "'", "’"])
        var undotted = NumberReader(joining: [",", ":", "/", "'", "’", "."])
        cased = String(decoding: text.utf8.filter { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }, as: UTF8.self)
        for scalar in Self.folded(text).unicodeScalars {
            let isDigit = Self.isDigit(scalar)
            plain.read(scalar, isDigit: isDigit)
            if joinsNumbers {
                joined.read(scalar, isDigit: isDigit)
                undotted.read(scalar, isDigit: isDigit)
            }
            if isDigit || Self.isLetter(scalar) {
                if scalar.isASCII {
                    word.unicodeScalars.append(scalar)
                    ascii.unicodeScalars.append(scalar)
                } else {
                    word += Self.replacements[scalar] ?? String(Character(scalar))
                }
                count += 1
            } else if !word.isEmpty, scalar.isASCII || scalar.properties.generalCategory != .nonspacingMark {
                words.append(word)
                word = ""
            }
        }
        if !word.isEmpty { words.append(word) }
        numbers = plain.finish()
        joinedNumbers = joined.finish()
        undottedNumbers = undotted.finish()
        letters = words.joined()
        if ascii.utf8.count < count, ascii.utf8.count * 2 >= count, ascii.utf8.count >= Self.shortestASCII {
            self.ascii = ascii
        }
    }

    /// The numbers of a text, where a mark between two digits may be dropped.
    private struct NumberReader {
        let joining: [Unicode.Scalar]
        private var numbers: [String] = []
        private var digits = ""
        private var hasMark = false

        init(joining: [Unicode.Scalar]) { self.joining = joining }

        mutating func read(_ scalar: Unicode.Scalar, isDigit: Bool) {
            if isDigit {
                digits.unicodeScalars.append(scalar)
                hasMark = false
            } else if !digits.isEmpty {
                if !hasMark, joining.contains(scalar) { hasMark = true } else { end() }
            }
        }

        private mutating func end() {
            if !digits.isEmpty { numbers.append(digits) }
            digits = ""
            hasMark = false
        }

        mutating func finish() -> [String] {
            end()
            return numbers
        }
    }

    /// The minimum number of letters of a title that is compared without its other letters.
    private static let shortestASCII = 12

    /// The agreement of the numbers of a name with those of a title.
    enum Agreement {
        case equal
        /// Equal if a program has dropped a period: `15` for `1.5`.
        case doubtful
        case different
    }

    /// Whether a name has the letters of this text, but in another case, and not because the program has changed the
    /// case of all: `Roar before the Race` and `Roar Before the Race` are two titles.
    func differsInCase(from name: ComparisonKey) -> Bool {
        cased != name.cased && cased.lowercased() == name.cased.lowercased()
            && name.cased != name.cased.lowercased() && name.cased != name.cased.uppercased()
    }

    /// Returns whether the numbers of a name agree with those of the text of which this is the key.
    func agreement(withNumbersOf name: ComparisonKey) -> Agreement {
        if name.numbers == numbers || name.numbers == joinedNumbers { return .equal }
        guard name.numbers == undottedNumbers else { return .different }
        // A long number is a date or the like, and not the number of another episode.
        let dropped = undottedNumbers.filter { !numbers.contains($0) && !joinedNumbers.contains($0) }
        return dropped.allSatisfy { $0.count >= 5 } ? .equal : .doubtful
    }

    /// Returns the text in lower case, with accents as separate scalars.
    private static func folded(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        return text.decomposedStringWithCompatibilityMapping.lowercased()
    }

    /// Letters without a decomposition, for which programs write ASCII letters.
    private static let replacements: [Unicode.Scalar: String] = [
        "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i",
    ]

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return ("a"..."z").contains(scalar) }
        return scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? ("0"..."9").contains(scalar) : scalar.properties.numericType == .decimal
    }
}
