internal import CLibXML2
internal import Platform
internal import PodcastFeed

/// A sanitizer of untrusted HTML: libxml2's HTML parser reads it, and only what an allowlist permits is written.
///
/// The output does not depend on how a browser would parse the input. Unknown elements are replaced by their content;
/// scripts, frames, form fields, SVG and media are dropped. Only the attributes listed below are written, and only
/// http, https and mailto addresses. Text without markup is split into paragraphs, and its web addresses become links.
/// The output consists of complete, properly nested elements, to be placed in a `div` of a page.
package enum SanitizedHTML {
    /// The maximum number of input bytes; the rest is ignored. Show notes are a few thousand bytes in size, or about
    /// 100,000 with a whole transcript.
    static let inputLimit = 1 << 18
    /// The maximum number of attributes of an element; further ones are dropped.
    private static let attributeLimit = 64
    /// The maximum number of separators in a tag; attributes written with spaces around `=` have three.
    private static let separatorLimit = 4 * attributeLimit
    /// The maximum nesting depth; deeper elements are replaced by their content.
    private static let depthLimit = 64

    /// Returns the sanitized markup of untrusted HTML, or of plain text whose `<` and `&` are character references.
    ///
    /// - Parameters:
    ///   - base: The URL against which relative links are resolved.
    ///   - headings: The level of all headings, so that they fit below those of the page; `nil` keeps their levels.
    package static func text(of html: String, base: String? = nil, headings: Int? = nil) -> String {
        let cut = html.utf8.count > inputLimit ? String(decoding: html.utf8.prefix(inputLimit), as: UTF8.self) : html
        // The parser stops at a NUL.
        let input = cut.utf8.filter { $0 != 0 }
        let output =
            hasTags(input)
            ? rewritten(boundingAttributes(of: input), Writer(base: base, headings: headings))
            : paragraphs(of: String(decoding: CharacterReferences.replaced(in: input), as: UTF8.self))
        return PlainText.replacing({ $0.value >= 0x7F && PlainText.isControl($0) }, in: output) { _ in " " }
    }

    /// Escapes text for elements and for attributes in double quotes.
    package static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        escape(text.utf8, into: &result)
        return String(decoding: result, as: UTF8.self)
    }

    /// Escapes the UTF-8 bytes of a text.
    static func escape(_ text: some Sequence<UInt8>, into output: inout [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): output.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): output.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): output.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): output.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): output.append(contentsOf: "&#39;".utf8)
            default: output.append(byte)
            }
        }
    }

    /// Returns an address that is safe in a link; `nil` unless it is http, https or mailto.
    package static func allowedAddress(_ text: String) -> String? {
        // A fast path for nearly all addresses, since there may be thousands.
        if text.utf8.starts(with: "https://".utf8) || text.utf8.starts(with: "http://".utf8),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        {
            return text
        }
        // Browsers ignore control characters before an address, and line feeds and tabs inside it (WHATWG URL, 4.4).
        let kept = text.unicodeScalars.filter { $0.value > 0x20 && $0.value != 0x7F || $0 == " " }
        var rest = Substring(String(String.UnicodeScalarView(kept)))
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        let lower = rest.prefix(8).lowercased()
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://") || lower.hasPrefix("mailto:") else {
            return nil
        }
        return String(rest)
    }

    // MARK: Allowlist

    /// Elements whose tags are written, with only the allowed attributes.
    private static let elements: Set<String> = [
        "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del",
        "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins",
        "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
        "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
    ]

    private static let voidElements: Set<String> = ["br", "col", "hr", "wbr"]

    /// Elements that are dropped with their content. `embed`, `source` and `track` are not listed: they have no
    /// content, but the parser assigns them the text that follows.
    private static let dropped: Set<String> = [
        "applet", "audio", "button", "canvas", "datalist", "frame", "frameset", "head", "iframe", "input",
        "link", "math", "meta", "noembed", "noframes", "noscript", "object", "optgroup", "option", "param", "plaintext",
        "script", "select", "style", "svg", "template", "textarea", "title", "video", "xmp",
    ]

    /// Returns the attribute with its value if both are allowed.
    private static func attribute(
        _ name: String, _ value: String, of element: String, base: String?
    ) -> String? {
        switch (element, name) {
        case ("a", "href"):
            // A link to another part of the same text (`#…`) is not resolved, and is therefore dropped.
            let address = value.hasPrefix("#") ? value : URLReference.resolve(value, base: base)
            return (allowedAddress(value) ?? allowedAddress(address)).map {
                " href=\"\(escaped($0))\" rel=\"noopener noreferrer nofollow\""
            }
        case ("ol", "start"), ("td", "colspan"), ("td", "rowspan"), ("th", "colspan"), ("th", "rowspan"):
            guard let number = Int(value), (0...1_000).contains(number) else { return nil }
            return " \(name)=\"\(number)\""
        case ("a", "title"), ("abbr", "title"), ("dfn", "title"): return " title=\"\(escaped(value))\""
        case (_, "dir") where ["ltr", "rtl", "auto"].contains(value.lowercased()):
            return " dir=\"\(value.lowercased())\""
        default: return nil
        }
    }

    // MARK: Markup

    /// Returns whether the text contains a tag, a comment or a processing instruction.
    private static func hasTags(_ text: [UInt8]) -> Bool {
        zip(text, text.dropFirst()).contains { byte, next in
            byte == UInt8(ascii: "<") && (letters.contains(next | 0x20) || "/!?".utf8.contains(next))
        }
    }

    private static let letters = UInt8(ascii: "a")...UInt8(ascii: "z")

    /// Returns the HTML without the attributes of a tag after some hundred. libxml2 compares each attribute of a tag
    /// with all earlier ones: a tag of 256 KiB took 4.5 s.
    static func boundingAttributes(of html: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(html.count)
        /// The number of separators in the open tag: spaces, slashes and ends of quoted values; `nil` outside of tags.
        var separators: Int?
        var quote: UInt8?
        var isAfterEquals = false
        for (index, byte) in html.enumerated() {
            if let count = separators {
                switch byte {
                case _ where byte == quote: (quote, separators, isAfterEquals) = (nil, count + 1, false)
                case _ where quote != nil: break
                case UInt8(ascii: ">"): separators = nil
                case UInt8(ascii: "="): isAfterEquals.toggle()
                case UInt8(ascii: "\"") where isAfterEquals, UInt8(ascii: "'") where isAfterEquals: quote = byte
                case 0...0x20: separators = count + 1
                case UInt8(ascii: "/"): (separators, isAfterEquals) = (count + 1, false)
                default: isAfterEquals = false
                }
                if separators ?? 0 > separatorLimit { continue }
            } else if byte == UInt8(ascii: "<"), index + 1 < html.count, letters.contains(html[index + 1] | 0x20) {
                (separators, isAfterEquals) = (0, false)
            }
            output.append(byte)
        }
        return output
    }

    private static func rewritten(_ html: [UInt8], _ empty: Writer) -> String {
        let options =
            HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue
            | HTML_PARSE_NONET.rawValue | HTML_PARSE_COMPACT.rawValue
        // The encoding is passed explicitly, so that a `meta` element has no effect.
        let document = html.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                htmlReadMemory($0.baseAddress, Int32($0.count), nil, "UTF-8", Int32(options))
            }
        }
        guard let document else { return "" }
        defer { xmlFreeDoc(document) }
        var writer = empty
        writer.walk(xmlDocGetRootElement(document))
        // The parser's bytes may be invalid UTF-8, which is replaced.
        return String(decoding: writer.output, as: UTF8.self)
    }

    /// A writer of a tree that works without recursion, since the depth is untrusted.
    private struct Writer {
        let base: String?
        let headings: Int?
        private(set) var output: [UInt8] = []
        /// Elements whose closing tag is not yet written.
        private var opened: [xmlNodePtr] = []

        init(base: String?, headings: Int?) { (self.base, self.headings) = (base, headings) }

        mutating func walk(_ root: xmlNodePtr?) {
            guard let root else { return }
            var node = root
            while true {
                if enter(node), let child = node.pointee.children {
                    node = child
                    continue
                }
                while true {
                    leave(node)
                    if node == root { return }
                    if let next = node.pointee.next {
                        node = next
                        break
                    }
                    guard let parent = node.pointee.parent else { return }
                    node = parent
                }
            }
        }

        /// - Returns: Whether to visit the children.
        private mutating func enter(_ node: xmlNodePtr) -> Bool {
            switch node.pointee.type {
            case XML_TEXT_NODE:
                if let content = node.pointee.content {
                    let length = Int(xmlStrlen(content))
                    escape(UnsafeBufferPointer(start: content, count: length), into: &output)
                }
                return false
            case XML_ELEMENT_NODE:
                let name = Self.string(node.pointee.name)
                if dropped.contains(name) { return false }
                if name == "img" {
                    // Only the alternative text is written, because loading the image would reveal the user to its
                    // server.
                    let words = Self.attributes(of: node).first { $0.name == "alt" }?.value ?? ""
                    escape(words.utf8, into: &output)
                    return false
                }
                guard elements.contains(name) else { return true }
                if voidElements.contains(name) {
                    output.append(contentsOf: "<\(name)>".utf8)
                    return false
                }
                guard opened.count < depthLimit else { return true }
                output.append(contentsOf: "<\(written(name))".utf8)
                for (key, value) in Self.attributes(of: node) {
                    if let text = attribute(key, value, of: name, base: base) { output.append(contentsOf: text.utf8) }
                }
                output.append(UInt8(ascii: ">"))
                opened.append(node)
                return true
            default:
                // Comments, CDATA, processing instructions, undeclared entities.
                return false
            }
        }

        private mutating func leave(_ node: xmlNodePtr) {
            guard opened.last == node else { return }
            opened.removeLast()
            output.append(contentsOf: "</\(written(Self.string(node.pointee.name)))>".utf8)
        }

        /// Returns the name under which an element is written.
        private func written(_ name: String) -> String {
            guard let headings, name.utf8.count == 2, name.first == "h", name != "hr" else { return name }
            return "h\(headings)"
        }

        /// Returns the attributes. The parser has made their names lower case, and has dropped repeated ones.
        private static func attributes(of node: xmlNodePtr) -> [(name: String, value: String)] {
            var found: [(name: String, value: String)] = []
            var next = node.pointee.properties
            while let attribute = next, found.count < attributeLimit {
                next = attribute.pointee.next
                let content = xmlNodeListGetString(node.pointee.doc, attribute.pointee.children, 1)
                defer { podfs_xml_free(content) }
                found.append((string(attribute.pointee.name), string(content)))
            }
            return found
        }

        private static func string(_ bytes: UnsafePointer<xmlChar>?) -> String {
            bytes.map { String(cString: $0) } ?? ""
        }
    }

    // MARK: Text

    /// Splits text into paragraphs at empty lines; single line feeds become line breaks.
    private static func paragraphs(of text: String) -> String {
        var result = ""
        var lines: [String] = []
        func finish() -> String { lines.isEmpty ? "" : "<p>\(lines.joined(separator: "<br>"))</p>" }
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            if line.allSatisfy(\.isWhitespace) {
                result += finish()
                lines = []
            } else {
                lines.append(withLinks(line))
            }
        }
        return result + finish()
    }

    /// Turns web addresses in a line into links.
    private static func withLinks(_ line: Substring) -> String {
        line.split(separator: " ", omittingEmptySubsequences: false).map { word in
            guard word.hasPrefix("http://") || word.hasPrefix("https://") else { return escaped(String(word)) }
            var address = word
            // Punctuation at the end of a sentence does not belong to the address.
            while let last = address.last, ".,;:!?)]\"'>".contains(last) { address.removeLast() }
            guard let allowed = allowedAddress(String(address)), allowed == address else {
                return escaped(String(word))
            }
            let text = escaped(allowed)
            let rest = escaped(String(word[address.endIndex...]))
            return "<a href=\"\(text)\" rel=\"noopener noreferrer nofollow\">\(text)</a>\(rest)"
        }.joined(separator: " ")
    }
}
