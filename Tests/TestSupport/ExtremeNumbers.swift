/// Extreme numbers that a server, a feed or a row of the library may contain.
package enum ExtremeNumbers {
    package static let integers: [Int64] = [
        .min, .min + 1, -(1 << 53) - 1, -(1 << 53), -253_402_300_800, -1 << 32, -1, 0, 1, 59, 1 << 31, (1 << 32) + 1,
        1_800_000_000, 253_402_300_799, 253_402_300_800, 1 << 44, (1 << 44) + 1, 1 << 53, (1 << 53) + 1, .max - 1, .max,
    ]

    package static let doubles: [Double] = [
        -.infinity, -.greatestFiniteMagnitude, -1e19, -0x1p63, -1, -0.0, 0, .leastNonzeroMagnitude, 0.5, 1e9, 1e15,
        0x1p53, 0x1p63, 1e19, 1e308, .infinity,
    ]

    /// JSON numbers: the integers, and others with fractions, exponents or more digits than any type holds.
    package static let literals: [String] =
        integers.map(String.init) + [
            "-0", "0.1", "1e15", "1E+19", "-1e19", "1e308", "-1e308", "1e-320", "9223372036854775808",
            "-9223372036854775809", "18446744073709551615", "18446744073709551616", "0.5e1",
            String(repeating: "9", count: 300), "1." + String(repeating: "3", count: 300),
        ]

    package static let words: [String] = [
        "", " ", "NaN", "nan", "inf", "-inf", "Infinity", "0x7fffffffffffffff", "+5", " 5 ", "5 5", "1_000", "1,5", "٣",
        "--1", "1e", "9:9:9:9", "99999999:99999999:99999999", "PT99999999999999H", "null", "true",
    ]

    /// Returns a random JSON value: a number or, half of the time, a string.
    package static func json(using generator: inout some RandomNumberGenerator) -> String {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: "\"\(text(using: &generator))\""
        case 1: "\"\(Int64.random(in: .min ... .max, using: &generator))\""
        case 2: "\(Int64.random(in: .min ... .max, using: &generator))"
        default: literals.randomElement(using: &generator) ?? "0"
        }
    }

    /// Returns a random literal or word.
    package static func text(using generator: inout some RandomNumberGenerator) -> String {
        (Bool.random(using: &generator) ? literals : words).randomElement(using: &generator) ?? ""
    }
}
