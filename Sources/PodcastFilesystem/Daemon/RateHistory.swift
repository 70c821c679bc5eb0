/// The rate of all transfers together, second by second, for a while.
///
/// What is told of a rate holds until the next word. A value; times are seconds of any clock that does not go back.
package struct RateHistory: Sendable {
    /// The number of seconds that are kept.
    package static let length = 120

    /// The newest last, no two of the same second.
    private var samples: [(second: Int64, rate: Double)] = []

    package init() {}

    /// Takes note of the rate from now on, in bytes a second.
    package mutating func note(_ rate: Double, at second: Int64) {
        if let last = samples.last, last.second >= second {
            samples[samples.count - 1].rate = rate
            return
        }
        samples.append((second, rate))
        // The one before the first that is shown tells what held when the time shown began.
        if let first = samples.firstIndex(where: { $0.second > second - Int64(Self.length) }), first > 1 {
            samples.removeFirst(first - 1)
        }
    }

    /// One value for each of the last `length` seconds up to and with `second`, the newest last.
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
