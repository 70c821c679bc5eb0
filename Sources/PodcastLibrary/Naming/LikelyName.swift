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
        let wanted = ComparisonKey(text)
        let words = wanted.words.joined(separator: " ")
        let ranked = names.map { name in
            let parts = ComparisonKey(name).words
            let whole = parts.joined(separator: " ")
            var ranks = [rank(text.lowercased(), name.lowercased(), 2), rank(words, whole, words.isEmpty ? 0 : 2)]
            // A short text is easily found in a name by chance.
            if words.count >= shortest {
                // Across words only a longer text.
                if whole.contains(words) || words.count > 4 && parts.joined().contains(wanted.letters) {
                    ranks.append(2)
                }
                for start in parts.indices.dropLast(wanted.words.count) + [parts.count - wanted.words.count]
                where start >= 0 {
                    let part = parts[start...].prefix(wanted.words.count).joined(separator: " ")
                    // Fewer letters may be wrong than in a whole name. The odd ranks are those of parts.
                    if part.count >= shortest { ranks.append(rank(words, part, 1) + 1) }
                }
            }
            return (name, rank: ranks.min() ?? far)
        }
        return ranked.min { $0.rank < $1.rank }.flatMap { $0.rank < far ? $0.0 : nil }
    }

    /// The minimum number of letters of a text that may mean a part of a name.
    private static let shortest = 3
    /// The rank of a name that is not similar.
    private static let far = 1_000_000

    /// Returns twice the number of wrong letters, or `far` if more than a third of them and than `least` are wrong.
    private static func rank(_ one: String, _ other: String, _ least: Int) -> Int {
        let limit = max(least, one.count / 3)
        guard abs(one.count - other.count) <= limit else { return far }
        let changes = other.difference(from: one)
        // A letter in place of another one is removed and inserted.
        let wrong = max(changes.insertions.count, changes.removals.count)
        return wrong <= limit ? 2 * wrong : far
    }
}
