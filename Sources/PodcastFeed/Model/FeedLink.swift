// The feeds that a web page names: `<link rel="alternate" type="application/rss+xml" title="…" href="…">`.
extension WebLink {
    /// The media types of feeds.
    private static let types: Set<String> = ["application/rss+xml", "application/atom+xml", "application/feed+json"]
    /// The maximum number of feeds that are returned; a page with more is a directory.
    private static let limit = 20
    /// The maximum length of an address in bytes.
    private static let longest = 4_096

    /// Returns the feeds that a web page names, each once, in their order.
    ///
    /// - Parameter base: The address of the page.
    static func feeds(in page: [UInt8], base: String?) -> [WebLink] {
        var found: [WebLink] = []
        var rest = page[...]
        while found.count < limit, let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            guard rest.prefix(4).map({ $0 | 0x20 }).elementsEqual("link".utf8), rest.count > 4,
                rest[rest.startIndex + 4].isXMLSpace
            else { continue }
            rest = rest.dropFirst(4)
            let attributes = attributes(&rest)
            let relations = attributes["rel"]?.lowercased().split(whereSeparator: \.isWhitespace) ?? []
            guard relations.contains("alternate"),
                let type = attributes["type"]?.lowercased().prefix(while: { $0 != ";" && $0 != " " }),
                types.contains(String(type)), let reference = attributes["href"]
            else { continue }
            let url = URLReference.resolve(reference, base: base)
            guard url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.count <= longest,
                !found.contains(where: { $0.url == url })
            else { continue }
            found.append(WebLink(url: url, title: attributes["title"].flatMap { $0.isEmpty ? nil : $0 }))
        }
        return found
    }

    /// Reads the attributes of a tag up to its `>`, with names in lower case.
    private static func attributes(_ rest: inout ArraySlice<UInt8>) -> [String: String] {
        var found: [String: String] = [:]
        while true {
            rest = rest.drop { $0.isXMLSpace || $0 == UInt8(ascii: "/") }
            guard let first = rest.first, first != UInt8(ascii: ">") else { return found }
            let name = rest.prefix { !$0.isXMLSpace && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ">") }
            rest = rest.dropFirst(max(1, name.count)).drop(while: \.isXMLSpace)
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst().drop(while: \.isXMLSpace)
            let value: ArraySlice<UInt8>
            if let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                value = rest.dropFirst().prefix { $0 != quote }
                rest = rest.dropFirst(value.count + 2)
            } else {
                value = rest.prefix { !$0.isXMLSpace && $0 != UInt8(ascii: ">") }
                rest = rest.dropFirst(value.count)
            }
            let key = String(decoding: name, as: UTF8.self).lowercased()
            if found[key] == nil { found[key] = FeedValues.line(value.prefix(longest)) ?? "" }
        }
    }
}
