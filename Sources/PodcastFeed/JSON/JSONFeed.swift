internal import Platform

/// The builder of a ``Feed`` from a JSON Feed (version 1.1, jsonfeed.org), or from a plain list of videos.
///
/// A truncated or malformed document yields the items before the truncation or syntax error, as with XML. A malformed
/// document without items is an error.
struct JSONFeed {
    let base: String?
    let limits: FeedLimits
    /// Receives each item. If it is set, the items are not added to the feed.
    private let onItem: ((Item) -> Void)?
    private var itemCount = 0
    /// Whether any item has an enclosure.
    private var hasMedia = false
    private var urls: URLResolver
    private var feed = Feed(format: .json)
    /// Whether a list of items or videos has been found.
    private var hasItems = false
    private var hasReportedItemLimit = false
    /// Whether the list contains values that are not objects.
    private var hasOtherValues = false

    init(base: String?, limits: FeedLimits, onItem: ((Item) -> Void)?) {
        self.onItem = onItem
        self.base = base
        self.limits = limits
        urls = URLResolver(limits: limits)
    }

    /// Parses a document.
    ///
    /// - Parameters:
    ///   - isCut: Whether `bytes` is only the beginning of the document.
    ///   - diagnostics: The diagnostics of the steps before this one, such as the detection of the encoding.
    /// - Throws: ``DocumentError/Problem/json(_:)``.
    mutating func feed(from bytes: [UInt8], isCut: Bool, diagnostics: [Diagnostic]) throws -> Feed {
        feed.diagnostics = diagnostics
        var scanner = JSONScanner(bytes)
        let first = scanner.peek()
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            throw DocumentError.Problem.json("its outermost value is not an object")
        }
        do {
            if first == UInt8(ascii: "[") {
                try videos(&scanner)
                // An array of other values is not a list of videos; an empty array may be a list of videos.
                let isEmpty = itemCount == 0 && !hasOtherValues
                guard isEmpty || hasMedia else {
                    throw DocumentError.Problem.json("it is a list, but nothing in it names a video")
                }
            } else {
                try scanner.members { scanner, name in try member(name, &scanner) }
            }
        } catch let fault as JSONScanner.Fault {
            if isCut {
                diagnose("the document is larger than \(limits.bytes) bytes; the rest is ignored", line: fault.line)
                feed.isCut = true
            } else {
                guard itemCount > 0 else { throw DocumentError.Problem.json("line \(fault.line) is not valid JSON") }
                diagnose("the JSON cannot be read from here; the rest is ignored", line: fault.line)
                feed.isCut = true
            }
        }
        guard hasItems else { throw DocumentError.Problem.json("it has no list “items” or “videos”") }
        for index in feed.items.indices where feed.items[index].author == feed.author { feed.items[index].author = nil }
        return feed
    }

    private mutating func member(_ name: [UInt8], _ scanner: inout JSONScanner) throws {
        switch String(decoding: name.prefix(40), as: UTF8.self) {
        case "title": feed.title = try title(scanner.value()) ?? feed.title
        case "home_page_url": feed.link = try url(scanner.value()) ?? feed.link
        case "description": feed.description = try html(scanner.value()) ?? feed.description
        case "language": feed.language = try line(scanner.value()) ?? feed.language
        case "icon": feed.image = try url(scanner.value()) ?? feed.image
        case "favicon":
            let address = try url(scanner.value())
            feed.image = feed.image ?? address
        case "authors": feed.author = try names(scanner.value()) ?? feed.author
        case "author":
            let author = try self.name(scanner.value()["name"])
            feed.author = feed.author ?? author
        case "next_url": feed.next = try url(scanner.value()) ?? feed.next
        case "expired":
            guard case .bool(true) = try scanner.value() else { return }
            feed.isComplete = true
            // One refresh a day is enough, as for a complete show in XML.
            feed.updateInterval = 86_400
        case "items" where scanner.peek() == UInt8(ascii: "["):
            hasItems = true
            try scanner.elements { scanner in try element(&scanner) { $0.item($1, line: $2) } }
        case "videos" where scanner.peek() == UInt8(ascii: "[") && !hasItems: try videos(&scanner)
        case "next":
            let address = try url(scanner.value())
            feed.next = feed.next ?? address
        default: try scanner.skip()
        }
    }

    private mutating func videos(_ scanner: inout JSONScanner) throws {
        hasItems = true
        try scanner.elements { scanner in try element(&scanner) { $0.video($1, line: $2) } }
    }

    private mutating func element(
        _ scanner: inout JSONScanner, _ read: (inout JSONFeed, JSONScanner.Value, Int) -> Item
    ) throws {
        guard itemCount < limits.items else {
            if !hasReportedItemLimit {
                hasReportedItemLimit = true
                diagnose("there are more than \(limits.items) items; the rest is ignored", line: scanner.line())
                feed.isCut = true
            }
            return try scanner.skip()
        }
        let isObject = scanner.peek() == UInt8(ascii: "{")
        let start = scanner.line()
        let value = try scanner.value()
        guard isObject else {
            hasOtherValues = true
            return diagnose("an item is not an object and is ignored", line: start)
        }
        let item = read(&self, value, start)
        itemCount += 1
        hasMedia = hasMedia || !item.enclosures.isEmpty
        if item.enclosures.isEmpty { feed.unplayable += 1 }
        if let onItem { onItem(item) } else { feed.items.append(item) }
    }

    private mutating func item(_ object: JSONScanner.Value, line start: Int) -> Item {
        var item = Item()
        item.line = start
        item.guid = identifier(object["id"])
        item.title = title(object["title"])
        item.link = url(object["url"]) ?? url(object["external_url"])
        item.description = html(object["content_html"]) ?? plain(object["content_text"]) ?? plain(object["summary"])
        item.image = url(object["image"]) ?? url(object["banner_image"])
        item.author = names(object["authors"]) ?? name(object["author"]?["name"])
        for written in [line(object["date_published"]), line(object["date_modified"])] {
            guard item.published == nil, let written else { continue }
            item.published = PublicationDate(parsing: written)
            if item.published == nil { diagnose("the date “\(written.prefix(40))” cannot be read", line: start) }
        }
        for attachment in object["attachments"]?.elements.prefix(limits.entries) ?? [] {
            guard let address = url(attachment["url"]) else {
                diagnose("an attachment has no URL and is ignored", line: start)
                continue
            }
            let length = number(attachment["size_in_bytes"]).flatMap { FeedValues.length($0) }
            item.enclosures.append(
                Enclosure(url: address, length: length, type: type(attachment["mime_type"])))
            let seconds = number(attachment["duration_in_seconds"]) ?? 0
            if item.duration == nil, seconds > 0, seconds <= 1e9 { item.duration = seconds }
        }
        (item.enclosures, item.attachments) = Enclosure.divided(item.enclosures)
        return item
    }

    /// Returns the first name in `authors`, which replaces `author` since version 1.1; `nil` if there is none.
    private func names(_ value: JSONScanner.Value?) -> String? {
        for author in value?.elements ?? [] {
            if let name = name(author["name"]) { return name }
        }
        return nil
    }

    /// Returns an identifier: a string, or a number, which JSON Feed 1.0 allowed, too.
    func identifier(_ value: JSONScanner.Value?) -> String? {
        guard case .number(let number) = value else {
            return bytes(value, limits.line).flatMap { FeedValues.string($0) }
        }
        // Doubles represent every whole number up to 2^53 exactly.
        return number == number.rounded() && abs(number) <= 9_007_199_254_740_992 ? "\(Int64(number))" : "\(number)"
    }

    func line(_ value: JSONScanner.Value?) -> String? { bytes(value, limits.line).flatMap { FeedValues.line($0) } }

    func title(_ value: JSONScanner.Value?) -> String? { line(value).flatMap(PlainLine.withoutTags) }

    func name(_ value: JSONScanner.Value?) -> String? {
        line(value).map(PlainLine.person).flatMap(PlainLine.withoutTags)
    }

    func type(_ value: JSONScanner.Value?) -> String? { line(value).flatMap { MIMEType.essence(of: $0.utf8) } }

    func html(_ value: JSONScanner.Value?) -> String? { bytes(value, limits.text).flatMap { FeedValues.string($0) } }

    /// Returns plain text as HTML.
    private func plain(_ value: JSONScanner.Value?) -> String? {
        bytes(value, limits.text).flatMap { FeedValues.string(FeedValues.escaped($0)) }
    }

    /// Returns the text of a string, truncated at a character boundary and without characters that XML does not allow,
    /// so that all formats yield the same characters; `nil` for other values.
    private func bytes(_ value: JSONScanner.Value?, _ limit: Int) -> [UInt8]? {
        guard case .string(let string) = value else { return nil }
        return string.withUnsafeBufferPointer { UTF8Cleaner.cleaned(UTF8Cleaner.prefix($0, limit)) }
    }

    mutating func url(_ value: JSONScanner.Value?) -> String? {
        guard case .string(let string) = value else { return nil }
        return string.withUnsafeBufferPointer { urls.resolve($0, base: base) }
    }

    /// Returns a number, also from a string in any format of ``FeedValues/seconds(_:)``.
    func number(_ value: JSONScanner.Value?) -> Double? {
        switch value {
        case .number(let number): number
        case .string(let text): FeedValues.seconds(text.trimmed)
        default: nil
        }
    }

    private var hasRoomForDiagnostics: Bool { feed.diagnostics.count < limits.diagnostics }

    mutating func diagnose(_ message: String, line: Int) {
        if hasRoomForDiagnostics { feed.diagnostics.append(Diagnostic(line: line, message: message)) }
    }
}

// Reads the JSON lists of videos that small servers offer, as if they were feeds.
//
// There is no standard for such lists. A list is an array, or an object with an array `videos`, of objects with a media
// URL and a title. The common names of these members are supported.
extension JSONFeed {
    /// The type assumed for a file without a MIME type, unless its URL's extension shows what it is. It is a video
    /// type, since the usual member is called `movie`.
    private static let mediaType = "video/mp4"

    mutating func video(_ object: JSONScanner.Value, line start: Int) -> Item {
        var item = Item()
        item.line = start
        item.guid = identifier(object["id"]) ?? identifier(object["guid"])
        item.title = title(object["title"]) ?? title(object["name"])
        item.description = html(object["description"]) ?? html(object["summary"])
        item.image = address(object["thumbnail"]) ?? address(object["image"])
        item.author = name(object["author"])
        for name: StaticString in ["published", "date", "created", "created_at"] {
            guard item.published == nil else { break }
            if case .number(let seconds)? = object[name] {
                // Programs write seconds or milliseconds. A number from 1e11 on is read as milliseconds, since 1e11
                // seconds would be the year 5138.
                let whole = seconds < 1e11 ? seconds : seconds / 1_000
                if whole >= 0, whole < 1e11 { item.published = PublicationDate(seconds: Int64(whole), offset: 0) }
            } else if let written = line(object[name]) {
                item.published = PublicationDate(parsing: written)
                if item.published == nil { diagnose("the date “\(written.prefix(40))” cannot be read", line: start) }
            }
        }
        let seconds = number(object["duration"]) ?? 0
        if seconds > 0, seconds <= 1e9 { item.duration = seconds }
        let names: [StaticString] = ["movie", "url", "href"]
        guard let index = names.firstIndex(where: { address(object[$0]) != nil }),
            let media = address(object[names[index]])
        else { return item }
        // If `movie` is the URL of the media, `url` or `href` is the URL of a web page about the media.
        if index == 0 { item.link = address(object["url"]) ?? address(object["href"]) }
        let inner = object[names[index]]
        let length = number(object["size"]) ?? number(inner?["size"])
        let type = type(object["type"]) ?? type(inner?["type"])
        var enclosure = Enclosure(
            url: media, length: length.flatMap { FeedValues.length($0) }, type: type)
        if enclosure.kind == .unknown, !(type?.contains("/") ?? false) { enclosure.type = Self.mediaType }
        (item.enclosures, item.attachments) = Enclosure.divided([enclosure])
        return item
    }

    /// Returns the URL in a string, or in an object's member `url` or `href`.
    private mutating func address(_ value: JSONScanner.Value?) -> String? {
        url(value) ?? url(value?["url"]) ?? url(value?["href"])
    }
}
