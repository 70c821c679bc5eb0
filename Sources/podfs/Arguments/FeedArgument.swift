import Foundation

/// Interpretation of an argument as the URL of a feed. Pure, except that it checks whether a file of that name exists.
enum FeedArgument {
    /// URL schemes with which web pages open a feed in a podcast program; the feed itself has an http or https URL.
    private static let feedSchemes: Set = ["feed", "pcast", "itpc", "podcast", "rss", "podcasts"]

    /// Returns the URL. Surrounding white space, double quotes and angle brackets are removed. Both
    /// `example.com/feed.xml` and `feed://example.com/feed.xml` become `https://example.com/feed.xml`. Text that starts
    /// neither with a URL scheme nor with a host name is returned as it is.
    ///
    /// - Throws: `CommandError` if the argument is the path of an existing file.
    static func address(_ argument: String) throws(CommandError) -> String {
        let text = trimmed(argument)
        if let colon = text.firstIndex(of: ":"), feedSchemes.contains(text[..<colon].lowercased()) {
            var rest = text[text.index(after: colon)...]
            if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
            return rest.contains("://") ? String(rest) : "https://" + rest
        }
        if text.contains("://") { return text }
        if access(text, F_OK) == 0 {
            throw CommandError(
                .usage, "'\(argument)' is a file: podfs import reads lists of shows (OPML), podfs inspect shows a feed")
        }
        return isHost(text.prefix { $0 != "/" && $0 != "?" }) ? "https://" + text : text
    }

    /// Returns advice for an argument that was refused as a URL; `nil` if it cannot be the name of a show, since it
    /// contains a slash, starts with a hyphen or is empty.
    static func advice(on argument: String) -> String? {
        let text = trimmed(argument)
        guard !text.isEmpty, !text.contains("://"), !text.contains("/"), !text.hasPrefix("-") else { return nil }
        return "to find a show by its name: podfs search \(text)"
    }

    private static func trimmed(_ argument: String) -> String {
        argument.trimmingCharacters(in: CharacterSet.whitespacesAndNewlines.union(CharacterSet(charactersIn: "<>\"")))
    }

    /// Returns whether the text is a host name with a dot, or `localhost`, with an optional port.
    private static func isHost(_ text: Substring) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, parts.count == 1 || UInt16(parts[1]) != nil else { return false }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let isPlausible = labels.allSatisfy { label in
            !label.isEmpty && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
        }
        return isPlausible && (labels.count > 1 || name == "localhost")
    }
}
