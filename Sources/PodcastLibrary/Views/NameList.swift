/// A list of names with commas between them. A name that has a comma itself stands in double quotes, and a double quote
/// in it is doubled: `"News, Weather", Night Owls`. Pure.
enum NameList {
    /// Returns the names of a list; `nil` if a quote is not closed.
    static func names(_ text: String) -> [String]? {
        var names: [String] = []
        var rest = Substring(text)
        while let first = rest.first {
            if first == "," || first == " " {
                rest.removeFirst()
            } else if first == "\"" {
                guard let (name, after) = quoted(rest) else { return nil }
                // Text behind the quotes belongs to a name that begins with one.
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

    /// Returns the name in the quotes with which a text begins, and what follows them.
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

    static func text(_ names: [String]) -> String {
        names.map { name in
            let isPlain = !name.contains(",") && !name.hasPrefix("\"")
            return isPlain ? name : "\"\(name.replacing("\"", with: "\"\""))\""
        }.joined(separator: ", ")
    }
}
