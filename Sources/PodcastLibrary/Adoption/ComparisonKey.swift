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
        let scalars = Self.folded(text).unicodeScalars
        numbers = Self.numbers(scalars)
        if joinsNumbers {
            joinedNumbers = Self.numbers(scalars, joining: [",", ":", "/", "'", "’"])
            undottedNumbers = Self.numbers(scalars, joining: [",", ":", "/", "'", "’", "."])
        }
        cased = String(decoding: text.utf8.filter { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }, as: UTF8.self)
        var word = ""
        for scalar in scalars {
            if Self.isDigit(scalar) || Self.isLetter(scalar) {
                word += Self.replacements[scalar] ?? String(Character(scalar))
                count += 1
            } else if !word.isEmpty, scalar.isASCII || scalar.properties.generalCategory != .nonspacingMark {
                words.append(word)
                word = ""
            }
        }
        if !word.isEmpty { words.append(word) }
        letters = words.joined()
        let ascii = String(
            String.UnicodeScalarView(scalars.filter { $0.isASCII && (Self.isDigit($0) || Self.isLetter($0)) }))
        // The minimum number of letters of a title that is compared without its other letters.
        if ascii.utf8.count < count, ascii.utf8.count * 2 >= count, ascii.utf8.count >= 12 {
            self.ascii = ascii
        }
    }

    /// Returns the numbers of a text, where one of the marks between two digits is dropped.
    private static func numbers(
        _ scalars: String.UnicodeScalarView, joining marks: [Unicode.Scalar] = []
    ) -> [String] {
        var numbers: [String] = []
        /// Whether the last number may go on, and whether a mark was dropped since its last digit.
        var (isOpen, hasMark) = (false, false)
        for scalar in scalars {
            if isDigit(scalar) {
                if !isOpen { numbers.append("") }
                numbers[numbers.count - 1].unicodeScalars.append(scalar)
                (isOpen, hasMark) = (true, false)
            } else {
                isOpen = isOpen && !hasMark && marks.contains(scalar)
                hasMark = isOpen
            }
        }
        return numbers
    }

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
