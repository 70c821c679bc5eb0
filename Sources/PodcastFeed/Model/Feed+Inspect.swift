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
    /// - Parameters:
    ///   - leading: Members written before those of the feed.
    ///   - inspected: The items that were encoded during parsing; ``items`` follow them.
    func writeInspectJSON(
        leading: [(String, OrderedJSON)] = [], items inspected: InspectedItems = InspectedItems(),
        to write: ([UInt8]) throws -> Void
    ) rethrows {
        let members: [JSONMembers.Element] =
            leading.map { (key: $0, value: $1) } + Array(facts) + [(key: "items", value: OrderedJSON.array([]))]
        var beginning: [UInt8] = []
        OrderedJSON.write(members, to: &beginning, level: 0)
        // The end of the list, a line feed and a brace are written after the items.
        try write(Array(beginning.dropLast(3)))
        var inspected = inspected
        for item in items {
            inspected.append(item)
            if inspected.pieces.count > 1 { try write(inspected.pieces.removeFirst()) }
        }
        for piece in inspected.pieces { try write(piece) }
        var end = Array("\(inspected.isEmpty ? "" : "\n  ")],\n  \"diagnostics\": ".utf8)
        diagnostics.write(to: &end, level: 1)
        try write(end + "\n}\n".utf8)
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
    private static let pieceSize = 256 << 10

    fileprivate var pieces: [[UInt8]] = []
    fileprivate private(set) var isEmpty = true

    package init() {}

    /// Encodes and appends an item.
    package mutating func append(_ item: Item) {
        if pieces.last?.count ?? .max >= Self.pieceSize {
            pieces.append([])
            if !isEmpty { pieces[pieces.count - 1].reserveCapacity(Self.pieceSize + Self.pieceSize / 8) }
        }
        pieces[pieces.count - 1] += (isEmpty ? "\n    " : ",\n    ").utf8
        isEmpty = false
        item.write(to: &pieces[pieces.count - 1], level: 2)
    }
}
