/// The total rate of all transfers for each of the last `length` seconds.
///
/// A rate applies until the next one is recorded. Times are seconds of a monotonic clock.
package struct RateHistory: Sendable {
    /// The number of seconds recorded.
    package static let length = 120

    /// The samples, newest last, at most one per second.
    private var samples: [(second: Int64, rate: Double)] = []

    package init() {}

    /// Records the current rate in bytes per second.
    package mutating func record(_ rate: Double, at second: Int64) {
        if let last = samples.last, last.second >= second {
            samples[samples.count - 1].rate = rate
            return
        }
        samples.append((second, rate))
        // Retain the last sample before these `length` seconds, since its rate applies at their start.
        if let first = samples.firstIndex(where: { $0.second > second - Int64(Self.length) }), first > 1 {
            samples.removeFirst(first - 1)
        }
    }

    /// Returns one value for each of the last `length` seconds up to and including `second`, newest last.
    package func values(until second: Int64) -> [Double] {
        var values: [Double] = []
        values.reserveCapacity(Self.length)
        var rest = samples[...]
        var rate = 0.0
        for moment in (second - Int64(Self.length) + 1)...second {
            while let next = rest.first, next.second <= moment {
                rate = next.rate
                rest.removeFirst()
            }
            values.append(rate)
        }
        return values
    }
}
