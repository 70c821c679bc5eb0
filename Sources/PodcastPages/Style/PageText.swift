internal import Platform
internal import PodcastFeed
internal import PodcastLibrary

/// The HTML of a page under construction. Trusted markup is added unchanged, and all other text escaped.
struct PageText {
    private(set) var bytes: [UInt8] = []

    /// Adds markup unchanged; only for constants of this program.
    mutating func add(_ markup: String) { bytes.append(contentsOf: markup.utf8) }

    /// Removes everything after the first `count` bytes.
    mutating func remove(from count: Int) { bytes.removeLast(bytes.count - count) }

    /// Adds untrusted text, for elements and for attributes in double quotes: on one line, without control characters,
    /// and without characters that override the text direction.
    mutating func text(_ text: String) { SanitizedHTML.escape(PlainText.spaced(text).utf8, into: &bytes) }

    /// Adds the relative address of a file, for an attribute. Each name is percent-encoded except for the unreserved
    /// characters (RFC 3986, 2.3), which include the dots of `..`.
    mutating func path(_ names: String...) { path(names) }

    mutating func path(_ names: [String]) {
        for (index, name) in names.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "/")) }
            name.appendPercentEncoded(to: &bytes)
        }
    }

    /// Adds a `<time>` with the day in the feed's time zone; nothing for a time outside the calendar's range.
    mutating func day(_ seconds: Int64, offset: Int = 0) {
        guard let day = GregorianDay(seconds: seconds, offset: offset) else { return }
        add("<time datetime=\"")
        add(day.description)
        add("\">")
        add(DayText.text(day))
        add("</time>")
    }

    // MARK: The document

    /// Adds everything up to the opening tag of `body`.
    ///
    /// - Parameters:
    ///   - kind: The class of the body.
    ///   - language: The `lang` attribute of the document, preceded by a space; empty for none.
    mutating func begin(title: String, kind: String, language: String = " lang=\"en\"") {
        add("<!DOCTYPE html>\n<html\(language)>\n<head>\n<meta charset=\"utf-8\">\n")
        add("<meta http-equiv=\"Content-Security-Policy\" content=\"\(PageStyle.policy)\">\n")
        add("<meta name=\"referrer\" content=\"no-referrer\">\n")
        add("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        add("<meta name=\"color-scheme\" content=\"light dark\">\n")
        add("<title>")
        text(title)
        add("</title>\n<style>\(PageStyle.sheet)</style>\n</head>\n<body class=\"\(kind)\">\n")
    }

    /// Adds the script and the end of the document.
    mutating func finish() { add("<script>\(PageStyle.script)</script>\n</body>\n</html>\n") }

    /// Adds data for the script, in an element that the browser does not run because of its type.
    mutating func data(_ value: OrderedJSON, id: String) {
        add("<script type=\"application/json\" id=\"\(id)\">")
        // In JSON, `<` and controls occur only inside strings, so replacing them leaves the document valid.
        let text = String(decoding: value.encoded(pretty: false), as: UTF8.self)
        add(PlainText.spaced(text).replacingScalars("<", with: "\\u003c"))
        add("</script>\n")
    }

    // MARK: Navigation

    /// The files of the pages in the mount's root, with their titles in the navigation.
    static let pages =
        [("index.html", "Shows")] + ViewKind.allCases.map { ($0.file, $0.title) } + [
            (".status.html", "Transfers")
        ]

    /// Adds the links to the pages in the mount's root.
    ///
    /// - Parameters:
    ///   - current: The file of this page; `nil` for a page that is not in the root.
    ///   - root: The relative address of the root, with a slash at the end; empty for a page in the root.
    mutating func navigation(current: String?, root: String = "") {
        add("<nav aria-label=\"Pages\">")
        for (file, title) in Self.pages {
            add("<a href=\"\(root)\(file)\"\(file == current ? " aria-current=\"page\"" : "")>\(title)</a>")
        }
        add("</nav>\n")
    }
}

/// Days in English.
enum DayText {
    /// Returns `20 Nov 2026`.
    static func text(_ day: GregorianDay) -> String {
        let (year, month, dayOfMonth) = day.components
        return "\(dayOfMonth) \(GregorianDay.monthNames[month - 1]) \(GregorianDay.padded(year, 4))"
    }
}

/// The language of a show or an episode, from a feed.
enum LanguageTag {
    /// Returns ` lang="de"` if the tag has only letters, digits and hyphens, as RFC 5646 requires, and at most 35 of
    /// them; otherwise an empty string.
    static func attribute(_ tag: String?) -> String {
        guard let tag, !tag.isEmpty, tag.utf8.count <= 35,
            tag.unicodeScalars.allSatisfy({
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789-".unicodeScalars.contains($0))
            })
        else { return "" }
        return " lang=\"\(tag)\""
    }
}
