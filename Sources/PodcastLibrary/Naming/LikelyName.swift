/// Recognition of names that a person has typed inexactly. Pure.
package enum LikelyName {
    /// Returns whether a name contains a text, ignoring case, accents and punctuation: `kuchen` is in `Der Küchenfunk`.
    package static func contains(_ text: String, in name: String) -> Bool {
        let words = ComparisonKey(text).words.joined(separator: " ")
        return !words.isEmpty && ComparisonKey(name).words.joined(separator: " ").contains(words)
    }

    /// Returns the name that a text most likely means; `nil` if none is close enough.
    ///
    /// The text may be a misspelled name, or one or more misspelled words of it: `Oels` means `Owls & Co`, `template`
    /// means `names.template`.
    package static func nearest(to text: String, in names: [String]) -> String? {
        let typed = Array(text.lowercased())
        let wanted = ComparisonKey(text)
        let words = wanted.words.joined(separator: " ")
        var best: (name: String, rank: Int)?
        for name in names {
            var rank = rank(typed, Array(name.lowercased()), allowing: max(2, typed.count / 3))
            if !words.isEmpty {
                let candidates = ComparisonKey(name).words
                let spelled = candidates.joined(separator: " ")
                rank = min(rank, self.rank(Array(words), Array(spelled), allowing: max(2, words.count / 3)))
                // Across words only a longer text, since a short one is easily found there by chance.
                let isInside =
                    spelled.contains(words) || words.count > 4 && candidates.joined().contains(wanted.letters)
                if isInside, words.count >= shortest { rank = min(rank, 2) }
                rank = min(rank, rankOfPart(words, wanted.words.count, in: candidates))
            }
            if rank < best?.rank ?? Int.max { best = (name, rank) }
        }
        return best?.name
    }

    /// The minimum number of letters of a text that may mean a part of a name.
    private static let shortest = 3

    /// Twice the distance, or `Int.max` if it is greater than `limit`. The odd ranks are those of parts.
    private static func rank(_ one: [Character], _ other: [Character], allowing limit: Int) -> Int {
        guard abs(one.count - other.count) <= limit else { return .max }
        let distance = distance(one, other)
        return distance <= limit ? 2 * distance : .max
    }

    /// Returns the rank of the most similar run of words in a name. Fewer letters may be wrong than in a whole name.
    private static func rankOfPart(_ words: String, _ count: Int, in candidates: [String]) -> Int {
        guard words.count >= shortest, candidates.count > count else { return .max }
        return (0...(candidates.count - count)).reduce(.max) { best, start in
            let part = candidates[start..<(start + count)].joined(separator: " ")
            let rank = rank(Array(words), Array(part), allowing: max(1, words.count / 3))
            return min(best, rank == .max || part.count < shortest ? .max : rank + 1)
        }
    }

    /// Returns the Levenshtein distance: insertions, removals and replacements of characters.
    package static func distance(_ one: [Character], _ other: [Character]) -> Int {
        var row = Array(0...other.count)
        for (index, character) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, candidate) in other.enumerated() {
                let replaced = diagonal + (character == candidate ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
    }
}
