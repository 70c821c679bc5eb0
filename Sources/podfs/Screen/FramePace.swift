/// A limit on redraws: the screen is drawn at most five times a second, however many events arrive.
struct FramePace {
    /// The minimum interval between two frames, in seconds. Numbers that change faster cannot be read.
    static let interval = 0.2

    /// The time of the last drawn frame. All times are in seconds of one monotonic clock.
    private var last = -Double.infinity
    /// The time of a requested frame that is not drawn yet; `nil` if there is none.
    private var due: Double?

    /// Requests a frame at `when`, or `interval` after the last drawn one if that is later.
    ///
    /// - Returns: The seconds after which to call `recordIfDue`; `nil` if a call is already scheduled for that time or
    ///   earlier.
    mutating func requestFrame(at when: Double, now: Double) -> Double? {
        let time = max(when, last + Self.interval)
        if let due, due <= time { return nil }
        due = time
        return max(0, time - now)
    }

    /// Records the requested frame as drawn if it is due; returns whether it is.
    mutating func recordIfDue(now: Double) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        last = now
        return true
    }
}
