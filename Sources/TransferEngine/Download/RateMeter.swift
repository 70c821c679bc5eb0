/// The rate in bytes per second over the last few seconds.
struct RateMeter {
    /// The bytes of each of the last seconds, newest last.
    private var seconds: [(second: Int64, bytes: Int64)] = []
    private var began: Int64?

    /// The averaged seconds: long enough to be steady, short enough to show a change.
    private static let window: Int64 = 5

    mutating func add(_ count: Int, at now: Int64) {
        let second = now / 1_000
        if began == nil { began = now }
        if let last = seconds.last, last.second == second {
            seconds[seconds.count - 1].bytes += Int64(count)
        } else {
            seconds.append((second, Int64(count)))
        }
        seconds.removeAll { $0.second <= second - Self.window }
    }

    func bytesPerSecond(at now: Int64) -> Double {
        guard let began else { return 0 }
        let start = max(began, (now / 1_000 - Self.window + 1) * 1_000)
        let bytes = seconds.filter { $0.second > now / 1_000 - Self.window }.reduce(0) { $0 + $1.bytes }
        return Double(bytes) * 1_000 / Double(max(now - start, 200))
    }
}
