/// The bytes of a file that are present, as half-open ranges of offsets.
package typealias ByteRanges = RangeSet<Int64>

extension RangeSet where Bound == Int64 {
    /// The number of bytes in the set.
    package var byteCount: Int64 {
        var sum: Int64 = 0
        for range in ranges { sum += range.upperBound - range.lowerBound }
        return sum
    }

    /// Returns whether every byte of `range` is in the set. An empty range always is.
    package func covers(_ range: Range<Int64>) -> Bool {
        if range.isEmpty { return true }
        for present in ranges where present.lowerBound <= range.lowerBound && range.lowerBound < present.upperBound {
            return range.upperBound <= present.upperBound
        }
        return false
    }

    /// Returns the first offset at or after `offset` that is not in the set.
    package func firstMissing(from offset: Int64) -> Int64 {
        for present in ranges where present.lowerBound <= offset && offset < present.upperBound {
            return present.upperBound
        }
        return offset
    }

    /// Returns the start of the first present range that starts after `offset`.
    package func nextPresent(after offset: Int64) -> Int64? {
        for present in ranges where present.lowerBound > offset { return present.lowerBound }
        return nil
    }

    /// The set as text: `0-4095,8192-9999`, both ends inclusive as in RFC 9110's byte ranges; empty for the empty set.
    package var text: String {
        var result = ""
        for range in ranges {
            if !result.isEmpty { result += "," }
            result += "\(range.lowerBound)-\(range.upperBound - 1)"
        }
        return result
    }

    /// Parses `text`; `nil` if it is malformed.
    package init?(text: String) {
        self.init()
        if text.isEmpty { return }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
                last >= first, last < Int64.max
            else { return nil }
            insert(contentsOf: first..<(last + 1))
        }
        // The property `text` never has ranges that touch, overlap or are unordered, so such an argument is malformed.
        if self.text != text { return nil }
    }
}
