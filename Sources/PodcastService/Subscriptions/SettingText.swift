internal import Foundation

/// Parsing of numbers with units in settings, and suggestions for misspelled names. Pure.
package enum SettingText {
    /// Multipliers of units: powers of ten for SI prefixes, powers of two for those of IEC 80000-13. The keys are in
    /// lower case because case is ignored; that is unambiguous, since no size is in bits.
    private static let sizes: [String: Double] = [
        "": 1, "b": 1, "byte": 1, "bytes": 1,
        "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
        "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
    ]

    /// Parses a size such as `"500 KiB"`, `"2 MB"` or `"1024"` into bytes; `nil` if invalid or beyond 64 bits.
    ///
    /// - Parameter suffix: an allowed suffix of the unit in lower case, such as `/s`.
    package static func bytes(_ text: String, suffix: String = "") -> Int64? {
        guard let (number, unit) = numberAndUnit(text) else { return nil }
        let name = unit.hasSuffix(suffix) ? String(unit.dropLast(suffix.count)) : unit
        return bytes(number, unit: name.trimmingCharacters(in: .whitespaces))
    }

    /// Converts a number with a unit in lower case into bytes; `nil` for an unknown unit, or beyond 64 bits.
    package static func bytes(_ number: Double, unit: String) -> Int64? {
        guard let factor = sizes[unit] else { return nil }
        return Int64(exactly: (number * factor).rounded())
    }

    /// Parses `"1.5 GiB"` into 1.5 and `gib`. Accepts neither signs nor exponents.
    package static func numberAndUnit(_ text: String) -> (number: Double, unit: String)? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard let number = Double(digits), number.isFinite else { return nil }
        let unit = text.dropFirst(digits.count).trimmingCharacters(in: .whitespaces)
        return (number, unit.lowercased())
    }

    /// Returns the candidate closest to a misspelled word; `nil` if none is close enough.
    ///
    /// The part after the first dot of a name also matches, so that `template` finds `names.template`.
    package static func nearest(to word: String, in candidates: [String]) -> String? {
        let scored = candidates.map { candidate in
            let tail = candidate.split(separator: ".").dropFirst().joined(separator: ".")
            let whole = distance(word, candidate)
            return (candidate, tail.isEmpty ? whole : min(whole, distance(word, tail) + 1))
        }
        guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
        // At most two letters of a misspelled word are wrong, or a third of its letters if that is more. With more
        // wrong letters, it is a different word.
        return best.1 <= max(2, word.count / 3) ? best.0 : nil
    }

    /// Returns the Levenshtein distance: insertions, removals and replacements of characters.
    package static func distance(_ one: String, _ other: String) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (index, character) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, candidate) in other.enumerated() {
                let replaced = diagonal + (character == candidate ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
