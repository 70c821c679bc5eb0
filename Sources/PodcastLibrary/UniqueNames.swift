/// Hands out stems so that no two in one folder are equal when case is ignored.
///
/// Stems are compared, not whole names: the transcript, art, notes and chapters of an episode have its stem, and so two
/// episodes that differ in their extension alone would fight over them. A value; not shared between threads.
package struct UniqueNames: Sendable {
    /// Stems in a show's folder that belong to files podfs makes: `cover.jpg`, `playlist.m3u8`, `index.html`.
    package static let reservedInShow: Set<String> = ["cover", "playlist", "index"]
    /// Names in the root folder that podfs makes. Names that begin with a dot need no entry: no show's name does.
    package static let reservedInRoot: Set<String> = ["latest", "downloaded", "index.html"]

    private var taken: Set<String>
    /// The number to try next for a stem that was taken: a thousand episodes of one title need a thousand looks, not
    /// half a million.
    private var next: [String: Int] = [:]

    /// - Parameter taken: folded names (`FileName.folded`), the reserved ones among them.
    package init(taken: Set<String>) {
        self.taken = taken
    }

    package func isTaken(_ stem: String) -> Bool {
        taken.contains(FileName.folded(stem))
    }

    /// The stem itself when it is free, else the stem with the first free of ` (2)`, ` (3)`, …; taken from now on. Where many
    /// of these are taken it is a free one behind a taken one, which need not be the first.
    package mutating func claim(_ stem: String) -> String { claim(stem) { _ in false } }

    /// The same.
    ///
    /// - Parameter isTaken: whether a folded name is taken, of those that are not known here.
    package mutating func claim(_ stem: String, isTaken: (_ folded: String) throws -> Bool) rethrows -> String {
        let folded = FileName.folded(stem)
        if try !isTaken(folded), taken.insert(folded).inserted { return stem }
        func isFree(_ number: Int) throws -> Bool {
            let candidate = FileName.folded(Self.numbered(stem, number))
            return try !taken.contains(candidate) && !isTaken(candidate)
        }
        var number = next[folded] ?? 2
        let first = number
        // Names of thousands that are called the same, one by one: not all before are looked at each time.
        while number - first < Self.patience, try !isFree(number) { number += 1 }
        if number - first == Self.patience {
            var (lastTaken, step) = (number - 1, 1)
            while try !isFree(lastTaken + step) {
                lastTaken += step
                step *= 2
            }
            number = lastTaken + step
            // A free one whose predecessor is taken.
            while number - lastTaken > 1 {
                let middle = lastTaken + (number - lastTaken) / 2
                if try isFree(middle) { number = middle } else { lastTaken = middle }
            }
        }
        let candidate = Self.numbered(stem, number)
        taken.insert(FileName.folded(candidate))
        next[folded] = number + 1
        return candidate
    }

    /// Numbers that are tried one after the other.
    private static let patience = 16

    private static func numbered(_ stem: String, _ number: Int) -> String {
        let suffix = " (\(number))"
        return FileName.trimmed(FileName.cut(stem, to: FileName.stemLimit - suffix.utf8.count)) + suffix
    }
}
