/// A list of extended attributes in the order in which they are listed. Attributes whose value is `nil` are omitted,
/// and line breaks at the end of a value are removed.
struct AttributeList {
    private(set) var items: [(String, String)] = []

    mutating func add(_ name: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        // The maximum size of a value is 64 KiB (xattr(7)); longer show notes are cut between two characters.
        var text = value.description
        if text.utf8.count > 65_536 {
            text = String(decoding: text.utf8.prefix(65_536 - 4), as: UTF8.self)
            while text.last == "\u{FFFD}" { text.removeLast() }
        }
        while text.last?.isNewline == true { text.removeLast() }
        items.append((name, text))
    }
}
