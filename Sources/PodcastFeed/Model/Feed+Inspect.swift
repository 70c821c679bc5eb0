package extension Feed {
    /// Returns the output of `podfs inspect --json`: every fact of the feed, absent ones as `null`, and a line feed at
    /// the end.
    ///
    /// The order of the members is fixed, so that two outputs can be compared with `diff`.
    func inspectJSON() -> [UInt8] {
        var text: [UInt8] = []
        writeInspectJSON { text += $0 }
        return text
    }

    /// Writes the text of `inspectJSON` piece by piece, so that it is never completely in memory.
    ///
    /// - Parameter leading: Members written before those of the feed.
    func writeInspectJSON(
        leading: [(String, OrderedJSON)] = [], to write: ([UInt8]) throws -> Void
    ) rethrows {
        try writeInspectJSON(leading: leading, to: write) { writer in
            for item in items {
                writer.element()
                item.write(to: &writer)
                if writer.bytes.count >= InspectedItems.pieceSize { try write(writer.take()) }
            }
        }
    }

    /// Writes the text with items that were encoded during parsing, instead of ``items``.
    func writeInspectJSON(items: InspectedItems, to write: ([UInt8]) throws -> Void) rethrows {
        try writeInspectJSON(leading: [], to: write) { writer in
            guard !items.isEmpty else { return }
            try write(writer.take())
            for piece in items.pieces { try write(piece) }
            try write(items.writer.bytes)
            writer.skipElements()
        }
    }

    private func writeInspectJSON(
        leading: [(String, OrderedJSON)], to write: ([UInt8]) throws -> Void,
        items writeItems: (inout JSONWriter) throws -> Void
    ) rethrows {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in leading {
            writer.name(escaping: name)
            value.write(to: &writer)
        }
        writeFacts(to: &writer)
        writer.name("items")
        writer.beginArray()
        try writeItems(&writer)
        writer.endArray()
        writer.name("diagnostics")
        writer.array(diagnostics) { $0.write(to: &$1) }
        writer.endObject()
        writer.breakLine()
        try write(writer.take())
    }

    /// Writes the members before the items.
    private func writeFacts(to writer: inout JSONWriter) {
        writer.name("format")
        writer.string(format.rawValue)
        writer.name("title")
        writer.string(orNull: title)
        writer.name("link")
        writer.string(orNull: link)
        writer.name("description")
        writer.string(orNull: description)
        writer.name("language")
        writer.string(orNull: language)
        writer.name("image")
        writer.string(orNull: image)
        writer.name("author")
        writer.string(orNull: author)
        writer.name("guid")
        writer.string(orNull: guid)
        writer.name("type")
        writer.string(orNull: type)
        writer.name("explicit")
        writer.bool(orNull: explicit)
        writer.name("new_feed_url")
        writer.string(orNull: newFeedURL)
        writer.name("next")
        writer.string(orNull: next)
        writer.name("categories")
        writer.array(categories) { $1.string($0) }
    }
}

/// The items of a feed in the format of `inspect --json`, encoded one by one during parsing.
///
/// The members of the feed precede its items in the output but may follow them in the document, so the text is stored
/// until the end; it takes less memory than the items.
package struct InspectedItems {
    /// The piece size: large enough for few writes, and small enough to avoid copying a growing text.
    fileprivate static let pieceSize = 256 << 10

    fileprivate private(set) var pieces: [[UInt8]] = []
    /// The nesting level inside the feed and its list of items.
    fileprivate private(set) var writer = JSONWriter(level: 2)
    fileprivate private(set) var isEmpty = true

    package init() {}

    /// Appends an item to the document.
    package mutating func append(_ item: Item) {
        isEmpty = false
        writer.element()
        item.write(to: &writer)
        guard writer.bytes.count >= Self.pieceSize else { return }
        pieces.append(writer.take())
        writer.reserve(Self.pieceSize + Self.pieceSize / 8)
    }
}

extension JSONWriter {
    fileprivate mutating func array<Element>(_ elements: [Element], _ write: (Element, inout JSONWriter) -> Void) {
        beginArray()
        for value in elements {
            element()
            write(value, &self)
        }
        endArray()
    }
}

extension Item {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("guid")
        writer.string(orNull: guid)
        writer.name("title")
        writer.string(orNull: title)
        writer.name("published")
        writer.string(orNull: published?.iso8601)
        writer.name("duration")
        writer.double(orNull: duration)
        writer.name("season")
        writer.int(orNull: season)
        writer.name("episode")
        writer.double(orNull: episode)
        writer.name("episode_type")
        writer.string(orNull: episodeType)
        writer.name("explicit")
        writer.bool(orNull: explicit)
        writer.name("link")
        writer.string(orNull: link)
        writer.name("description")
        writer.string(orNull: description)
        writer.name("image")
        writer.string(orNull: image)
        writer.name("enclosures")
        writer.array(enclosures) { $0.write(to: &$1) }
        writer.name("transcripts")
        writer.array(transcripts) { $0.write(to: &$1) }
        writer.name("chapters_url")
        writer.string(orNull: chaptersURL)
        writer.name("chapters")
        writer.array(chapters) { $0.write(to: &$1) }
        writer.endObject()
    }
}

extension Enclosure {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("url")
        writer.string(url)
        writer.name("length")
        writer.int(orNull: length)
        writer.name("type")
        writer.string(orNull: type)
        writer.endObject()
    }
}

extension Transcript {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("url")
        writer.string(url)
        writer.name("type")
        writer.string(orNull: type)
        writer.name("language")
        writer.string(orNull: language)
        writer.endObject()
    }
}

extension Chapter {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("start")
        writer.double(start)
        writer.name("title")
        writer.string(orNull: title)
        writer.endObject()
    }
}

extension Diagnostic {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("line")
        writer.int(Int64(line))
        writer.name("message")
        writer.string(message)
        writer.endObject()
    }
}
