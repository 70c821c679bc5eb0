import Foundation

/// A reproducible random number generator: SplitMix64 (Steele, Lea, Flood 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// Returns one of the values with equal probability.
    package mutating func pick<Value>(_ first: Value, _ others: Value...) -> Value {
        let number = Int.random(in: 0...others.count, using: &self)
        return number == 0 ? first : others[number - 1]
    }
}

/// Returns the number in an environment variable, such as the seed of a random test.
package func environmentNumber(_ name: String, otherwise value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? value
}
