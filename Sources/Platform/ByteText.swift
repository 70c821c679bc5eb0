/// Readable sizes and rates, in units that are powers of 1024 bytes (IEC 80000-13).
package enum ByteText {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

    /// Returns a size: `512 B`, `4.0 KiB`, `93.1 MiB`.
    package static func size(_ bytes: Int64) -> String {
        if bytes < 1024 { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        // A value that would round to 1024.0 is shown in the next unit.
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// Returns a rate: `4.0 KiB/s`.
    package static func rate(_ bytesPerSecond: Double) -> String { size(WholeNumber.of(bytesPerSecond)) + "/s" }
}

/// Conversion of numbers that were computed or come from another process.
package enum WholeNumber {
    /// Truncates toward zero. Returns `.min` or `.max` for a value outside the range of `Int64`, and 0 for NaN.
    package static func of(_ value: Double) -> Int64 {
        if let whole = Int64(exactly: value.rounded(.towardZero)) { return whole }
        return value.isNaN ? 0 : value < 0 ? .min : .max
    }

    /// Formats a number with commas between thousands.
    package static func text(_ value: Int) -> String {
        var text = String(value.magnitude)
        var end = text.count - 3
        while end > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: end))
            end -= 3
        }
        return value < 0 ? "-" + text : text
    }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits, two each.
    package var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
