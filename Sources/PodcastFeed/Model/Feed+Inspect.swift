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
                item.writeJSON(to: &writer)
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
            value.writeJSON(to: &writer)
        }
        writer.members(facts)
        writer.name("items")
        writer.beginArray()
        try writeItems(&writer)
        writer.endArray()
        writer.members(["diagnostics": diagnostics])
        writer.endObject()
        writer.breakLine()
        try write(writer.drain())
    }

    /// The members before the items.
    private var facts: JSONMembers {
        [
            "format": format.rawValue, "title": title, "link": link, "description": description, "language": language,
            "image": image, "author": author, "guid": guid, "type": type, "explicit": explicit, "blocked": isBlocked,
            "new_feed_url": newFeedURL, "next": next, "previous_archive": previousArchive,
            "update_interval": updateInterval, "update_rule": updateRule, "uses_podping": usesPodping,
            "skip_hours": skipHours, "skip_days": skipDays, "complete": isComplete, "locked": isLocked,
            "locked_owner": lockedOwner, "medium": medium, "blocks": blocks, "persons": persons, "funding": funding,
            "trailers": trailers, "podroll": podroll, "publisher": publisher, "tags": tags.isEmpty ? nil : tags,
            "live_items": liveItems, "categories": categories, "cut": isCut, "unplayable": unplayable,
        ]
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
        item.writeJSON(to: &writer)
        guard writer.bytes.count >= Self.pieceSize else { return }
        pieces.append(writer.drain())
        writer.reserve(Self.pieceSize + Self.pieceSize / 8)
    }
}
