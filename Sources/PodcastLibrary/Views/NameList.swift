/// A comma-separated list of names. A name that contains a comma, or begins with a double quote, is enclosed in double
/// quotes, and each double quote in it is doubled: `"News, Weather", Night Owls`.
enum NameList {
    /// Parses a list. Returns `nil` if a quoted name has no closing quote.
    static func names(_ text: String) -> [String]? {
        var names: [String] = []
        var rest = Substring(text)
        while let first = rest.first {
            if first == "," || first == " " {
                rest.removeFirst()
            } else if first == "\"" {
                guard let (name, after) = quoted(rest) else { return nil }
                // If text follows the closing quote, the quotes are part of the name.
                let end = after.firstIndex(of: ",") ?? after.endIndex
                let tail = FileName.trimmedSpace(String(after[..<end]))
                names.append(tail.isEmpty ? name : FileName.trimmedSpace(String(rest[..<end])))
                rest = after[end...]
            } else {
                let end = rest.firstIndex(of: ",") ?? rest.endIndex
                names.append(FileName.trimmedSpace(String(rest[..<end])))
                rest = rest[end...]
            }
        }
        return names.filter { !$0.isEmpty }
    }

    /// Parses the quoted name at the start of a text, and returns it with the rest of the text. Returns `nil` if there
    /// is no closing quote.
    private static func quoted(_ text: Substring) -> (name: String, after: Substring)? {
        var name = ""
        var rest = text.dropFirst()
        while let end = rest.firstIndex(of: "\"") {
            name += rest[..<end]
            rest = rest[rest.index(after: end)...]
            guard rest.first == "\"" else { return (name, rest) }
            name += "\""
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Returns the list of these names.
    static func text(_ names: [String]) -> String {
        names.map { name in
            let isPlain = !name.contains(",") && !name.hasPrefix("\"")
            return isPlain ? name : "\"\(name.replacing("\"", with: "\"\""))\""
        }.joined(separator: ", ")
    }
}
