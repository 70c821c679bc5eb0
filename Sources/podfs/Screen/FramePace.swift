/// When to draw: at most five times a second, however much happens.
struct FramePace {
    /// Seconds; faster than that nobody reads numbers.
    static let interval = 0.2

    private var last = -Double.infinity
    /// When a frame has been asked for that is not drawn yet.
    private var due: Double?

    /// Something has changed, or changes at `when`.
    ///
    /// - Returns: after how many seconds to ask `isDue`; `nil` when that has been arranged already.
    mutating func want(at when: Double, now: Double) -> Double? {
        let time = max(when, last + Self.interval)
        if let due, due <= time { return nil }
        due = time
        return max(0, time - now)
    }

    /// Whether the frame that was wanted is to be drawn now; then it counts as drawn.
    mutating func isDue(now: Double) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        last = now
        return true
    }
}
