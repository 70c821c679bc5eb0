package extension Feed {
    /// Returns the output of `podfs inspect --json`: every property of the feed, `null` if absent, with a line feed at
    /// the end.
    ///
    /// The order of the members is fixed, so that two outputs can be compared with `diff`.
    func inspectJSON() -> [UInt8] {
        var text: [UInt8] = []
        writeInspectJSON { text += $0 }
        return text
    }

    /// Writes the text of `inspectJSON` in pieces, so that it is never completely in memory.
    ///
    /// - Parameter leading: Members written before those of the feed.
    func writeInspectJSON(
        leading: [(String, OrderedJSON)] = [], to write: ([UInt8]) throws -> Void
    ) rethrows {
        try writeInspectJSON(leading: leading, to: write) { writer in
            for item in items {
                writer.element()
                item.write(to: &writer)
                if writer.bytes.count >= InspectedItems.pieceSize { try write(writer.drain()) }
            }
        }
    }

    /// Writes the text with items that were encoded during parsing, instead of ``items``.
    func writeInspectJSON(items: InspectedItems, to write: ([UInt8]) throws -> Void) rethrows {
        try writeInspectJSON(leading: [], to: write) { writer in
            guard !items.isEmpty else { return }
            try write(writer.drain())
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
        try write(writer.drain())
    }

    /// Writes the members before the items.
    private func writeFacts(to writer: inout JSONWriter) {
        writer.member("format", format.rawValue)
        writer.member("title", title)
        writer.member("link", link)
        writer.member("description", description)
        writer.member("language", language)
        writer.member("image", image)
        writer.member("author", author)
        writer.member("guid", guid)
        writer.member("type", type)
        writer.member("explicit", explicit)
        writer.member("blocked", isBlocked)
        writer.member("new_feed_url", newFeedURL)
        writer.member("next", next)
        writer.member("previous_archive", previousArchive)
        writer.member("update_interval", updateInterval)
        writer.member("update_rule", updateRule)
        writer.member("uses_podping", usesPodping)
        writer.member("skip_hours", skipHours) { $1.int(Int64($0)) }
        writer.member("skip_days", skipDays) { $1.string($0) }
        writer.member("complete", isComplete)
        writer.member("locked", isLocked)
        writer.member("locked_owner", lockedOwner)
        writer.member("medium", medium)
        writer.member("blocks", blocks)
        writer.member("persons", persons)
        writer.member("funding", funding)
        writer.member("trailers", trailers)
        writer.member("podroll", podroll)
        writer.member("publisher", publisher)
        writer.member("tags", tags.isEmpty ? nil : tags)
        writer.member("live_items", liveItems)
        writer.member("categories", categories) { $1.string($0) }
        writer.member("cut", isCut)
        writer.member("unplayable", unplayable)
    }
}

/// The items of a feed in the format of `inspect --json`, encoded one by one during parsing.
///
/// The feed's own members precede its items in the output but may follow them in the document, so the items' text is
/// stored until the end; it takes less memory than the items.
package struct InspectedItems {
    /// The size of a piece in bytes: large enough for few writes, small enough that a growing text is not copied often.
    fileprivate static let pieceSize = 256 << 10

    fileprivate private(set) var pieces: [[UInt8]] = []
    /// The writer of the current piece, at the nesting level of the feed's list of items.
    fileprivate private(set) var writer = JSONWriter(level: 2)
    fileprivate private(set) var isEmpty = true

    package init() {}

    /// Encodes and appends an item.
    package mutating func append(_ item: Item) {
        isEmpty = false
        writer.element()
        item.write(to: &writer)
        guard writer.bytes.count >= Self.pieceSize else { return }
        pieces.append(writer.drain())
        writer.reserve(Self.pieceSize + Self.pieceSize / 8)
    }
}
