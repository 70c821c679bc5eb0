internal import Foundation
internal import Platform
internal import PodcastLibrary

/// A search term in normalized form, so that terms that a catalogue treats alike are equal.
package struct SearchTerm: Sendable, Hashable {
    /// The text that is sent: NFC, trimmed, with `PlainText.collapsed`.
    package let text: String
    /// The text folded for case-insensitive comparison.
    private let key: String

    /// Normalizes a term; `nil` if it is empty or longer than 200 characters. No show has such a long name, and
    /// catalogues truncate such a term.
    package init?(_ text: String) {
        // A folder's name has at most 255 bytes, but a client may send more. Reject a huge term before normalizing it.
        guard text.utf8.count <= 4_096 else { return nil }
        let normal = PlainText.collapsed(text.unicodeScalars).precomposedStringWithCanonicalMapping
        guard !normal.isEmpty, normal.count <= 200 else { return nil }
        self.text = normal
        key = FileName.folded(normal)
    }

    package static func == (one: Self, other: Self) -> Bool { one.key == other.key }
    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
