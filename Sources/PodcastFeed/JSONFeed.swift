internal import Foundation

/// Reads a JSON Feed (version 1.1, jsonfeed.org) into a ``Feed``.
struct JSONFeed {
    let base: String?
    let limits: FeedLimits
    private var urls: URLResolver

    init(base: String?, limits: FeedLimits) {
        self.base = base
        self.limits = limits
        urls = URLResolver(limits: limits)
    }

    mutating func feed(from bytes: [UInt8], diagnostics: [Diagnostic]) throws -> Feed {
        let document: Any
        do {
            document = try JSONSerialization.jsonObject(with: Data(bytes))
        } catch {
            throw FeedError.notAJSONFeed("it is not valid JSON")
        }
        guard let object = document as? [String: Any] else {
            throw FeedError.notAJSONFeed("its outermost value is no object")
        }
        guard let list = object["items"] as? [Any] else {
            throw FeedError.notAJSONFeed("it has no list “items”")
        }
        var feed = Feed(format: .json)
        feed.diagnostics = diagnostics
        feed.title = line(object["title"])
        feed.link = url(object["home_page_url"])
        feed.description = text(object["description"])
        feed.language = line(object["language"])
        feed.image = url(object["icon"]) ?? url(object["favicon"])
        feed.author = author(of: object)
        feed.next = url(object["next_url"])
        feed.isComplete = object["expired"] as? Bool == true
        for value in list {
            guard feed.items.count < limits.items else {
                note("there are more than \(limits.items) items; the rest is left out", in: &feed)
                break
            }
            guard let object = value as? [String: Any] else {
                note("an item is no object and is passed over", in: &feed)
                continue
            }
            var item = self.item(object, in: &feed)
            if item.author == feed.author { item.author = nil }
            feed.items.append(item)
        }
        return feed
    }

    private mutating func item(_ object: [String: Any], in feed: inout Feed) -> Item {
        var item = Item()
        item.guid = identifier(object["id"])
        item.title = line(object["title"])
        item.link = url(object["url"]) ?? url(object["external_url"])
        item.description = text(object["content_html"]) ?? text(object["content_text"]) ?? text(object["summary"])
        item.image = url(object["image"]) ?? url(object["banner_image"])
        item.author = author(of: object)
        for key in ["date_published", "date_modified"] {
            guard item.published == nil, let written = line(object[key]) else { continue }
            item.published = PublicationDate(parsing: written)
            if item.published == nil { note("the date “\(written.prefix(40))” cannot be read", in: &feed) }
        }
        let attachments = object["attachments"] as? [Any] ?? []
        for case let attachment as [String: Any] in attachments.prefix(limits.entries) {
            guard let address = url(attachment["url"]) else {
                note("an attachment has no URL and is passed over", in: &feed)
                continue
            }
            let length = number(attachment["size_in_bytes"]).flatMap { $0 >= 1 && $0 < 1e15 ? Int64($0) : nil }
            item.enclosures.append(
                Enclosure(url: address, length: length, type: line(attachment["mime_type"])?.lowercased()))
            let seconds = number(attachment["duration_in_seconds"]) ?? 0
            if item.duration == nil, seconds > 0, seconds <= 1e9 { item.duration = seconds }
        }
        item.enclosures = Enclosure.selected(from: item.enclosures)
        return item
    }

    /// The first name: `authors` since version 1.1, `author` before.
    private func author(of object: [String: Any]) -> String? {
        let authors = object["authors"] as? [Any] ?? []
        for case let author as [String: Any] in authors {
            if let name = line(author["name"]) { return name }
        }
        return line((object["author"] as? [String: Any])?["name"])
    }

    /// Version 1.0 allowed numbers too.
    private func identifier(_ value: Any?) -> String? {
        let string = (value as? String) ?? (value as? NSNumber)?.stringValue
        return bytes(string, limits.line).flatMap { FeedValues.string($0) }
    }

    /// The text of a string, cut at a character, without the characters that XML cannot hold: what comes from one kind
    /// of feed is no wilder than what comes from another.
    private func bytes(_ value: Any?, _ limit: Int) -> [UInt8]? {
        guard let string = value as? String else { return nil }
        let text = UTF8Cleaner.prefix(Array(string.utf8), limit)
        var cleaner = UTF8Cleaner()
        var block = UTF8Cleaner.Block(size: text.count)
        _ = text.withUnsafeBytes { cleaner.clean($0, into: &block) }
        return Array(block.contents)
    }

    private func line(_ value: Any?) -> String? {
        bytes(value, limits.line).flatMap { FeedValues.line($0) }
    }

    private func text(_ value: Any?) -> String? {
        bytes(value, limits.text).flatMap { FeedValues.string($0) }
    }

    private mutating func url(_ value: Any?) -> String? {
        (value as? String).flatMap { urls.resolve(Array($0.utf8), base: base) }
    }

    private func number(_ value: Any?) -> Double? {
        (value as? NSNumber)?.doubleValue ?? (value as? String).flatMap { FeedValues.seconds($0.utf8) }
    }

    private func note(_ message: String, in feed: inout Feed) {
        if feed.diagnostics.count < limits.diagnostics {
            feed.diagnostics.append(Diagnostic(line: 0, message: message))
        }
    }
}
