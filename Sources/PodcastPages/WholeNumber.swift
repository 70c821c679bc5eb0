/// Whole numbers of what was computed or came from another process.
package enum WholeNumber {
    /// Cut towards zero; the nearest that there is for one that is too large, and 0 for what is no number.
    package static func of(_ value: Double) -> Int64 {
        if let whole = Int64(exactly: value.rounded(.towardZero)) { return whole }
        return value.isNaN ? 0 : value < 0 ? .min : .max
    }

    /// With commas between thousands.
    static func text(_ value: Int) -> String {
        var text = String(value.magnitude)
        var end = text.count - 3
        while end > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: end))
            end -= 3
        }
        return value < 0 ? "-" + text : text
    }
}
