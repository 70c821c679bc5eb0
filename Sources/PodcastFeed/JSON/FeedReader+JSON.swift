internal import Platform

// JSON Feed (version 1.1, jsonfeed.org), and the lists of videos that small servers offer.
//
// There is no standard for such lists. A list is an array, or an object with an array `videos`, of objects with a media
// URL and a title. The common names of these members are supported.
extension FeedReader {
    /// The members that are values of a field, with their ranks.
    private typealias JSONRules = [String: (field: FeedField, rank: UInt8)]

    private static let showRules: JSONRules = [
        "title": (.title, 0), "home_page_url": (.link, 0), "description": (.description, 0),
        "language": (.language, 0), "icon": (.image, 0), "favicon": (.image, 1), "authors": (.author, 0),
        "author": (.author, 1),
    ]
    private static let itemRules: JSONRules = [
        "id": (.guid, 0), "title": (.title, 0), "url": (.link, 0), "external_url": (.link, 1),
        "content_html": (.description, 0), "content_text": (.description, 1), "summary": (.description, 2),
        "image": (.image, 0), "banner_image": (.image, 1), "authors": (.author, 0), "author": (.author, 1),
        "date_published": (.published, 0), "date_modified": (.published, 1),
    ]
    private static let videoRules: JSONRules = [
        "id": (.guid, 0), "guid": (.guid, 1), "title": (.title, 0), "name": (.title, 1),
        "description": (.description, 0), "summary": (.description, 1), "thumbnail": (.image, 0),
        "image": (.image, 1), "author": (.author, 0), "published": (.published, 0), "date": (.published, 1),
        "created": (.published, 2), "created_at": (.published, 3), "duration": (.duration, 0),
    ]

    /// Reads a document. One that is cut or malformed yields the items before the mistake, as with XML. A malformed
    /// document without items is an error.
    ///
    /// - Parameter isCut: Whether `bytes` is only the beginning of the document.
    /// - Throws: ``DocumentError/Problem/json(_:)``.
    mutating func readJSON(_ bytes: [UInt8], isCut: Bool) throws {
        show.feed.format = .json
        var scanner = JSONScanner(bytes)
        /// The number of elements in the list of items or videos; `nil` before it.
        var count: Int?
        let isList = scanner.peek() == UInt8(ascii: "[")
        guard isList || scanner.peek() == UInt8(ascii: "{") else {
            throw DocumentError.Problem.json("its outermost value is not an object")
        }
        do {
            if isList {
                try readItems(&scanner, areVideos: true, &count)
            } else {
                try scanner.members { scanner, name in
                    switch String(decoding: name.prefix(40), as: UTF8.self) {
                    case "items" where scanner.peek() == UInt8(ascii: "["):
                        try readItems(&scanner, areVideos: false, &count)
                    case "videos" where scanner.peek() == UInt8(ascii: "[") && count == nil:
                        try readItems(&scanner, areVideos: true, &count)
                    case "next_url", "next":
                        let address = try url(scanner.value())
                        show.feed.next = show.feed.next ?? address
                    case "expired":
                        if case .bool(true) = try scanner.value() { show.feed.isComplete = true }
                    case let name:
                        guard let rule = Self.showRules[name] else { return try scanner.skip() }
                        try set(rule.field, rule.rank, scanner.value())
                    }
                }
            }
        } catch let fault as JSONScanner.Fault {
            guard isCut || show.itemCount > 0 else {
                throw DocumentError.Problem.json("line \(fault.line) is not valid JSON")
            }
            diagnose(
                isCut
                    ? "the document is larger than \(limits.bytes) bytes; the rest is ignored"
                    : "the JSON cannot be read from here; the rest is ignored", line: fault.line)
            show.feed.isCut = true
        }
        guard let count else { throw DocumentError.Problem.json("it has no list “items” or “videos”") }
        // An array of other values is not a list of videos; an empty array may be a list of videos.
        if isList, count > 0, show.itemCount == show.feed.unplayable {
            throw DocumentError.Problem.json("it is a list, but nothing in it names a video")
        }
    }

    /// - Parameter count: The number of elements in the list so far.
    private mutating func readItems(_ scanner: inout JSONScanner, areVideos: Bool, _ count: inout Int?) throws {
        let rules = areVideos ? Self.videoRules : Self.itemRules
        count = 0
        try scanner.elements { scanner in
            count = (count ?? 0) + 1
            guard !isStopped else { return try scanner.skip() }
            _ = scanner.peek()
            diagnosticLog.lines = LineCounter(line: scanner.line())
            guard case let object = try scanner.value(), case .object(let members) = object else {
                return diagnose("an item is not an object and is ignored")
            }
            startItem(FeedAttributes(list: UnsafeBufferPointer(start: nil, count: 0)))
            guard isInItem else { return }
            for (name, value) in members {
                let name = String(decoding: name.prefix(40), as: UTF8.self)
                guard let rule = rules[name] else { continue }
                let isPlain = !areVideos && ["content_text", "summary"].contains(name)
                set(rule.field, rule.rank, value, isPlain: isPlain)
            }
            if areVideos { addVideo(object) } else { addAttachments(object["attachments"]?.elements ?? []) }
            finishItem()
        }
    }

    private mutating func set(_ field: FeedField, _ rank: UInt8, _ value: JSONScanner.Value, isPlain: Bool = false) {
        var text = value.text
        if field == .published, case .number(let seconds) = value {
            // Programs write seconds or milliseconds. A number from 1e11 on is read as milliseconds, since 1e11 seconds
            // would be the year 5138.
            let whole = seconds < 1e11 ? seconds : seconds / 1_000
            guard whole >= 0, whole < 1e11 else { return }
            text = Array(PublicationDate(seconds: Int64(whole), offset: 0).iso8601.utf8)
        }
        text?.withUnsafeBufferPointer { text in
            // A URL that is too long is omitted, not cut. All formats yield the same characters.
            let bytes = UTF8Cleaner.cleaned(
                field.text == .url ? text : UTF8Cleaner.prefix(text, limits.size(of: field.text)))
            (isPlain ? FeedValues.escaped(bytes) : bytes).withUnsafeBufferPointer { set(field, rank, $0) }
        }
    }

    private mutating func url(_ value: JSONScanner.Value?) -> String? {
        value?.text?.withUnsafeBufferPointer { url($0) }
    }

    private mutating func addAttachments(_ attachments: [JSONScanner.Value]) {
        for attachment in attachments.prefix(limits.entries) {
            guard let address = url(attachment["url"]) else {
                diagnose("an attachment has no URL and is ignored")
                continue
            }
            addEnclosure(address, length: attachment["size_in_bytes"], type: attachment["mime_type"])
            if let duration = attachment["duration_in_seconds"], ranks.wants(.duration, 0) {
                set(.duration, 0, duration)
            }
        }
    }

    /// Adds the media of a video, whose URL may be in an object with the video's size and type.
    private mutating func addVideo(_ object: JSONScanner.Value) {
        let movie = url(object["movie"])
        let page = url(object["url"]) ?? url(object["href"])
        guard let address = movie ?? page else { return }
        // If `movie` is the URL of the media, `url` or `href` is the URL of a web page about the media.
        if movie != nil { current.item.link = page }
        let inner = movie != nil ? object["movie"] : object["url"]
        addEnclosure(address, length: object["size"] ?? inner?["size"], type: object["type"] ?? inner?["type"])
        let media = current.item.enclosures[0]
        if media.kind == .unknown, !(media.type?.contains("/") ?? false) {
            // It is assumed to be a video, since the usual member is called `movie`.
            current.item.enclosures[0].type = "video/mp4"
        }
    }

    private mutating func addEnclosure(_ address: String, length: JSONScanner.Value?, type: JSONScanner.Value?) {
        let type = type?.text?.withUnsafeBufferPointer { line($0) }
        current.item.enclosures.append(
            Enclosure(
                url: address, length: length?.text.flatMap { FeedValues.length($0.trimmed) },
                type: type.flatMap { MIMEType.essence(of: $0.utf8) }))
    }
}

extension JSONScanner.Value {
    /// A string, a number, or what stands for an object or a list: its address or name, or that of its first element.
    fileprivate var text: [UInt8]? {
        switch self {
        case .string(let text): text
        // Doubles represent every whole number up to 2^53 exactly.
        case .number(let number) where number == number.rounded() && abs(number) <= 9_007_199_254_740_992:
            Array("\(Int64(number))".utf8)
        case .number(let number): Array("\(number)".utf8)
        case .object: self["url"]?.text ?? self["href"]?.text ?? self["name"]?.text
        case .array(let elements): elements.lazy.compactMap(\.text).first { !$0.isEmpty }
        case .null, .bool: nil
        }
    }
}
