package extension Feed {
    /// What `podfs inspect --json` prints: every fact of the feed, absent ones as `null`, and a line feed at the end.
    ///
    /// The order of the members never changes, so that two runs can be compared with `diff`.
    func inspectJSON() -> [UInt8] {
        inspectValue.encoded() + [UInt8(ascii: "\n")]
    }

    /// The same as a value, for callers that put it inside something larger.
    var inspectValue: OrderedJSON {
        .object(
            inspectFacts + [
                ("items", .array(items.map(\.inspectValue))),
                ("diagnostics", .array(diagnostics.map(\.inspectValue))),
            ])
    }

    /// Hands the text of `inspectJSON` to `write` piece by piece, an item at a time: the value of a large feed takes
    /// several times the memory of its document.
    ///
    /// - Parameter leading: members to stand before those of the feed.
    func writeInspectJSON(
        leading: [(String, OrderedJSON)] = [], to write: ([UInt8]) throws -> Void
    ) rethrows {
        func text(_ member: (String, OrderedJSON)) -> [UInt8] {
            OrderedJSON.string(member.0).encoded() + Array(": ".utf8) + member.1.encoded(onLevel: 1)
        }
        try write(Array("{".utf8))
        for member in leading + inspectFacts { try write(Array("\n  ".utf8) + text(member) + Array(",".utf8)) }
        try write(Array("\n  \"items\": [".utf8))
        for (index, item) in items.enumerated() {
            try write(Array((index > 0 ? ",\n    " : "\n    ").utf8) + item.inspectValue.encoded(onLevel: 2))
        }
        try write(Array((items.isEmpty ? "],\n  " : "\n  ],\n  ").utf8))
        try write(text(("diagnostics", .array(diagnostics.map(\.inspectValue)))))
        try write(Array("\n}\n".utf8))
    }

    /// The members that come before the items.
    private var inspectFacts: [(String, OrderedJSON)] {
        [
            ("format", .string(format.rawValue)),
            ("title", .string(orNull: title)),
            ("link", .string(orNull: link)),
            ("description", .string(orNull: description)),
            ("language", .string(orNull: language)),
            ("image", .string(orNull: image)),
            ("author", .string(orNull: author)),
            ("guid", .string(orNull: guid)),
            ("type", .string(orNull: type)),
            ("explicit", .bool(orNull: explicit)),
            ("new_feed_url", .string(orNull: newFeedURL)),
            ("next", .string(orNull: next)),
            ("categories", .array(categories.map { .string($0) })),
        ]
    }
}

extension Item {
    fileprivate var inspectValue: OrderedJSON {
        .object([
            ("guid", .string(orNull: guid)),
            ("title", .string(orNull: title)),
            ("published", .string(orNull: published?.iso8601)),
            ("duration", .double(orNull: duration)),
            ("season", .int(orNull: season)),
            ("episode", .double(orNull: episode)),
            ("episode_type", .string(orNull: episodeType)),
            ("explicit", .bool(orNull: explicit)),
            ("link", .string(orNull: link)),
            ("description", .string(orNull: description)),
            ("image", .string(orNull: image)),
            ("enclosures", .array(enclosures.map(\.inspectValue))),
            ("transcripts", .array(transcripts.map(\.inspectValue))),
            ("chapters_url", .string(orNull: chaptersURL)),
            ("chapters", .array(chapters.map(\.inspectValue))),
        ])
    }
}

extension Enclosure {
    fileprivate var inspectValue: OrderedJSON {
        .object([
            ("url", .string(url)),
            ("length", .int(orNull: length)),
            ("type", .string(orNull: type)),
        ])
    }
}

extension Transcript {
    fileprivate var inspectValue: OrderedJSON {
        .object([
            ("url", .string(url)),
            ("type", .string(orNull: type)),
            ("language", .string(orNull: language)),
        ])
    }
}

extension Chapter {
    fileprivate var inspectValue: OrderedJSON {
        .object([("start", .double(start)), ("title", .string(orNull: title))])
    }
}

extension Diagnostic {
    fileprivate var inspectValue: OrderedJSON {
        .object([("line", .int(Int64(line))), ("message", .string(message))])
    }
}
