/// An allocator of stems that are unique in a folder, ignoring case. A stem is a file's name without its extension, or
/// the name of a folder.
///
/// Stems rather than whole names are unique, because the transcript, art, notes and chapters of an episode have its
/// stem. The sidecar files of two episodes whose names differ only in the extension would otherwise collide.
package struct UniqueNames: Sendable {
    /// Stems reserved in a show's folder for generated files: `cover.jpg`, `playlist.m3u8`, `index.html`.
    package static let reservedInShow: Set<String> = ["cover", "playlist", "index"]
    /// Names reserved in the root folder, folded. Names with a leading dot need no entry, since no show's name has one.
    package static let reservedInRoot: Set<String> = ["latest", "downloaded", "index.html"]

    /// The stems in use, folded (`FileName.folded`) to be compared without regard to case.
    private var taken: Set<String>
    /// The next number to try for each folded stem that was claimed more than once. A thousand episodes with one title
    /// need a thousand lookups with this table, and half a million without it.
    private var next: [String: Int] = [:]

    /// - Parameter taken: The stems in use, folded by `FileName.folded`, including the reserved ones.
    package init(taken: Set<String>) { self.taken = taken }

    /// Returns whether a stem is in use, ignoring case.
    package func isTaken(_ stem: String) -> Bool { taken.contains(FileName.folded(stem)) }

    /// Reserves and returns the stem itself if it is free, otherwise the stem with a free suffix: ` (2)`, ` (3)`, ….
    /// The number is the lowest free one; if many are used, it may be a higher one.
    package mutating func claim(_ stem: String) -> String { claim(stem) { _ in false } }

    /// Reserves a stem like `claim(_:)`.
    ///
    /// - Parameter isTaken: Whether a folded stem is used elsewhere, for example in the database.
    package mutating func claim(_ stem: String, isTaken: (_ folded: String) throws -> Bool) rethrows -> String {
        let folded = FileName.folded(stem)
        if try !isTaken(folded), taken.insert(folded).inserted { return stem }
        func isFree(_ number: Int) throws -> Bool {
            let candidate = FileName.folded(Self.numbered(stem, number))
            return try !taken.contains(candidate) && !isTaken(candidate)
        }
        var number = next[folded] ?? 2
        let first = number
        // Try a few numbers in turn, then search exponentially. `next` starts empty in each new value, so if thousands
        // of equal stems were claimed one by one, each with a new value, each would look up all previous ones.
        while number - first < Self.linearTries, try !isFree(number) { number += 1 }
        if number - first == Self.linearTries {
            var (lastTaken, step) = (number - 1, 1)
            while try !isFree(lastTaken + step) {
                lastTaken += step
                step *= 2
            }
            number = lastTaken + step
            // Binary search for a free number whose predecessor is used.
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

    /// The number of candidates that are tried one after the other.
    private static let linearTries = 16

    /// Returns a stem with the suffix for a number, cut to `FileName.stemLimit`.
    private static func numbered(_ stem: String, _ number: Int) -> String {
        let suffix = " (\(number))"
        return FileName.trimmed(FileName.cut(stem, to: FileName.stemLimit - suffix.utf8.count)) + suffix
    }
}
