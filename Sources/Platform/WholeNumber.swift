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
