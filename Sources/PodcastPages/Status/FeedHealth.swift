internal import Platform
internal import PodcastFeed
package import PodcastLibrary

/// The refresh state of a show's feed: the first member of `.feed.json`, `health`.
package enum FeedHealth {
    /// The first bytes of a stored feed document: the opening of a JSON object that is formatted on several lines.
    package static let documentOpening = Array("{\n".utf8)

    /// A complete `.feed.json`, for a show without a stored feed document.
    package static func bytes(of show: Podcast) -> [UInt8] { value(of: show).encoded() + [UInt8(ascii: "\n")] }

    /// The beginning of a document that consists of `health` and the members of the stored feed document. The caller
    /// appends the stored document without its first bytes, `documentOpening`.
    package static func openingBytes(of show: Podcast) -> [UInt8] {
        // The end of the object is a line feed and a brace.
        value(of: show).encoded().dropLast(2) + Array(",\n".utf8)
    }

    private static func value(of show: Podcast) -> OrderedJSON {
        .object([
            (
                "health",
                .object([
                    ("state", .string(show.state)), ("error", .string(orNull: show.error)),
                    ("trouble", .string(orNull: show.trouble.announced?.rawValue)),
                    ("status", .int(orNull: show.httpStatus)),
                    ("url", .string(WebAddress.withoutUserInfo(show.url))),
                    ("final_url", .string(orNull: show.finalURL.map(WebAddress.withoutUserInfo))),
                    ("content_type", .string(orNull: show.contentType)), ("etag", .string(orNull: show.etag)),
                    ("last_modified", .string(orNull: show.lastModified)),
                    ("last_refresh", .string(orNull: show.lastRefresh.map(TimeText.iso8601))),
                    ("next_refresh", .string(orNull: show.nextRefresh.map(TimeText.iso8601))),
                    ("episodes", .int(Int64(show.episodes))), ("cached", .int(Int64(show.cached))),
                    ("unplayable", .int(orNull: show.unplayable)),
                ])
            )
        ])
    }
}
