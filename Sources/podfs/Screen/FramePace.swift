/// A limiter of redraws: at most five times a second, however many events arrive.
struct FramePace {
    /// The interval in seconds; faster changes of numbers cannot be read.
    static let interval = 0.2

    private var last = -Double.infinity
    /// The time of a requested frame that is not drawn yet.
    private var due: Double?

    /// Requests a frame for a change now, or at `when`.
    ///
    /// - Returns: The seconds after which to call `isDue`; `nil` if a call is scheduled already.
    mutating func requestFrame(at when: Double, now: Double) -> Double? {
        let time = max(when, last + Self.interval)
        if let due, due <= time { return nil }
        due = time
        return max(0, time - now)
    }

    /// Whether the requested frame is due; if so it counts as drawn.
    mutating func isDue(now: Double) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        last = now
        return true
    }
}
