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
    package mutating func claim(_ stem: String) -> String { claim(stem) { _ in false } }

    /// - Parameter isTaken: Whether a folded stem is used elsewhere, for example in the database.
    package mutating func claim(_ stem: String, isTaken: (_ folded: String) throws -> Bool) rethrows -> String {
        let folded = FileName.folded(stem)
        if try !isTaken(folded), taken.insert(folded).inserted { return stem }
        var number = next[folded] ?? 2
        while true {
            let name = Self.numbered(stem, number)
            let candidate = FileName.folded(name)
            number += 1
            if try !isTaken(candidate), taken.insert(candidate).inserted {
                next[folded] = number
                return name
            }
        }
    }

    /// Returns a stem with the suffix for a number, cut to `FileName.stemLimit`.
    private static func numbered(_ stem: String, _ number: Int) -> String {
        let suffix = " (\(number))"
        return FileName.trimmed(FileName.cut(stem, to: FileName.stemLimit - suffix.utf8.count)) + suffix
    }
}
