extension Sequence<Chapter> {
    /// Returns the chapters that a player can use: sorted by start, one for each start, none at or after `duration`.
    ///
    /// A duration that would remove more than half of the chapters is ignored: it is more likely to be wrong than the
    /// chapters are.
    ///
    /// - Parameter duration: The episode's duration in seconds, if known.
    package func playable(until duration: Double?) -> [Chapter] {
        var result: [Chapter] = []
        let sorted = enumerated().filter { $0.element.start.isFinite && $0.element.start >= 0 }
            .sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
        for (_, chapter) in sorted where result.last?.start != chapter.start { result.append(chapter) }
        guard let duration, duration > 0 else { return result }
        let inside = result.prefix { $0.start < duration }
        return inside.count * 2 >= result.count ? Array(inside) : result
    }
}
