extension String {
    /// The candidate that this is most likely a misspelling of, if any is near enough.
    ///
    /// A dotted name without its first part counts as the whole, so that `limit` finds `cache.limit`.
    func nearest(in candidates: [String]) -> String? {
        let scored = candidates.map { candidate in
            let tail = candidate.split(separator: ".").dropFirst().joined(separator: ".")
            let distance = distance(to: candidate)
            return (candidate, tail.isEmpty ? distance : Swift.min(distance, self.distance(to: tail) + 1))
        }
        guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
        // A third of the letters wrong is a misspelling, more is another word.
        return best.1 <= Swift.max(2, count / 3) ? best.0 : nil
    }

    /// Levenshtein's distance: insertions, removals and replacements of characters.
    func distance(to other: String) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (index, character) in enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, candidate) in other.enumerated() {
                let replaced = diagonal + (character == candidate ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
