/// The type of a document, determined by its beginning.
enum DocumentHead: Equatable {
    /// XML whose content starts at offset `start`: after `junk` bytes that are not XML, and the XML declaration.
    case xml(start: Int, junk: Int)
    case html
    case json
    /// None of these.
    case other

    /// Determines the type.
    ///
    /// - Parameter head: The first bytes in UTF-8, without leading white space: enough to include the root element's
    ///   start, even after comments.
    static func classify(_ head: UnsafeBufferPointer<UInt8>) -> DocumentHead {
        switch head.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .json
        default: break
        }
        if isHTML(head) { return .html }
        guard let junk = start(head) else { return .other }
        return .xml(start: junk + declarationLength(UnsafeBufferPointer(rebasing: head[junk...])), junk: junk)
    }

    /// Returns the offset at which the XML starts; `nil` if there is no `<`.
    ///
    /// The offset is 0 if the document begins like XML. Otherwise other text precedes the XML, such as the warning of a
    /// web server's script. The XML then starts at the XML declaration, or else at the root tag of a feed or list of
    /// subscriptions, or else at the first `<`.
    private static func start(_ head: UnsafeBufferPointer<UInt8>) -> Int? {
        let openings = ["<?xml", "<rss", "<feed", "<rdf:RDF", "<channel", "<opml"]
        if (openings + ["<!DOCTYPE", "<!--", "<?"]).contains(where: { head.starts(with: $0.utf8) }) { return 0 }
        for opening in openings {
            if let range = head.firstRange(of: Array(opening.utf8)) { return range.lowerBound }
        }
        return head.firstIndex(of: UInt8(ascii: "<"))
    }

    /// Returns the length of the XML declaration, up to its `>`; 0 if there is none. The XML parser does not get the
    /// declaration, because the text is already converted to UTF-8, and a malformed declaration may lack its `?>`.
    private static func declarationLength(_ head: UnsafeBufferPointer<UInt8>) -> Int {
        guard head.starts(with: "<?xml".utf8), head.count > 5, head[5].isXMLSpace || head[5] == UInt8(ascii: "?"),
            let end = head.firstIndex(of: UInt8(ascii: ">"))
        else { return 0 }
        return end + 1
    }

    /// Whether the document type or the first element, after declarations and comments, is HTML's.
    private static func isHTML(_ head: UnsafeBufferPointer<UInt8>) -> Bool {
        var rest = head[...]
        while true {
            rest = rest.drop(while: \.isXMLSpace)
            if rest.starts(with: "<!--".utf8), let end = rest.firstRange(of: Array("-->".utf8)) {
                rest = rest[end.upperBound...]
            } else if rest.starts(with: "<?".utf8), let end = rest.firstIndex(of: UInt8(ascii: ">")) {
                rest = rest[rest.index(after: end)...]
            } else if begins(rest, with: "<!doctype html"), let end = rest.firstIndex(of: UInt8(ascii: ">")) {
                // Some programs send this document type before feeds, too.
                let element = rest[rest.index(after: end)...].drop(while: \.isXMLSpace)
                return !["<rss", "<feed", "<rdf:rdf", "<opml", "<?xml"].contains { begins(element, with: $0) }
            } else {
                return begins(rest, with: "<!doctype html") || begins(rest, with: "<html")
            }
        }
    }

    /// Returns whether the bytes start with `text`, ignoring case, and no letter follows.
    ///
    /// - Parameter text: In lower case.
    private static func begins(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, with text: String) -> Bool {
        let start = bytes.prefix(text.utf8.count)
        guard start.elementsEqual(text.utf8, by: { $0 == $1 || ($0.isLetter && $0 | 0x20 == $1) }) else { return false }
        return !(bytes.dropFirst(text.utf8.count).first?.isLetter ?? false)
    }

    /// Returns the title of a web page; `nil` if it has none.
    static func htmlTitle(_ page: [UInt8]) -> String? {
        let lower = page.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        guard let tag = lower.firstRange(of: Array("<title".utf8)),
            let start = lower[tag.upperBound...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        let end = lower[start...].firstIndex(of: UInt8(ascii: "<")) ?? lower.endIndex
        return FeedValues.line(page[(start + 1)..<end].prefix(200))
    }
}
