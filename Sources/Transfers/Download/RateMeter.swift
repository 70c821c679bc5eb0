internal import Platform

/// The rate in bytes per second, averaged over the last five seconds.
struct RateMeter {
    /// The bytes of each of the last seconds, newest last.
    private var seconds: [(second: Int64, bytes: Int64)] = []
    /// The time of the first bytes.
    private var began: Instant?

    /// The averaging time in seconds: long enough to be steady, short enough to show a change.
    private static let window: Int64 = 5

    mutating func add(_ count: Int, at now: Instant) {
        let second = now.uptime.seconds
        if began == nil { began = now }
        if let last = seconds.last, last.second == second {
            seconds[seconds.count - 1].bytes += Int64(count)
        } else {
            seconds.append((second, Int64(count)))
        }
        seconds.removeAll { $0.second <= second - Self.window }
    }

    func bytesPerSecond(at now: Instant) -> Double {
        guard let began else { return 0 }
        let first = now.uptime.seconds - Self.window + 1
        let start = max(began, .seconds(first))
        let bytes = seconds.filter { $0.second >= first }.reduce(0) { $0 + $1.bytes }
        return Double(bytes) / (max(now - start, .milliseconds(200)) / .seconds(1))
    }
}
