internal import Foundation
internal import PodcastLibrary

/// What a person searches for, in one spelling: two terms that a catalogue takes for the same are equal.
package struct SearchTerm: Sendable, Hashable {
    /// As it is sent: NFC, white space trimmed and runs of it one space, without control characters.
    package let text: String
    /// The same without regard to case.
    private let key: String

    /// `nil` when nothing is left, or more than 200 characters are: no show has such a name, and catalogues cut it.
    package init?(_ text: String) {
        // A folder's name is at most 255 bytes; what is longer came by another way.
        guard text.utf8.count <= 4_096 else { return nil }
        let visible = text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: Unicode.Scalar(" ")
            default: scalar
            }
        }
        let words = String(String.UnicodeScalarView(visible)).split(separator: " ")
        let normal = words.joined(separator: " ").precomposedStringWithCanonicalMapping
        guard !normal.isEmpty, normal.count <= 200 else { return nil }
        self.text = normal
        key = FileName.folded(normal)
    }

    package static func == (one: Self, other: Self) -> Bool { one.key == other.key }
    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
