package extension Feed {
    /// What `podfs inspect --json` prints: every fact of the feed, absent ones as `null`, and a line feed at the end.
    ///
    /// The order of the members never changes, so that two runs can be compared with `diff`.
    func inspectJSON() -> [UInt8] {
        inspectValue.encoded() + [UInt8(ascii: "\n")]
    }

    /// The same as a value, for callers that put it inside something larger.
    var inspectValue: OrderedJSON {
        .object([
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
            ("items", .array(items.map(\.inspectValue))),
            ("diagnostics", .array(diagnostics.map(\.inspectValue))),
        ])
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
