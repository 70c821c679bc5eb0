internal import Foundation

/// Parsing of numbers with units in settings. Pure.
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
}
