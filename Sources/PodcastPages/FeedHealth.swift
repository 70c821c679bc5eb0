internal import PodcastFeed
package import PodcastLibrary

/// How a show's feed fares, as `.feed.json` tells it before what the feed says.
package struct FeedHealth: Sendable {
    private let show: Podcast

    package init(_ show: Podcast) { self.show = show }

    /// What the text of a JSON object on several lines begins with.
    package static let documentOpening = Array("{\n".utf8)

    /// A document of its own: for a show of which there is no other.
    package var bytes: [UInt8] { value.encoded() + [UInt8(ascii: "\n")] }

    /// The beginning of a document that goes on with the members of another one, whose `documentOpening` it replaces.
    package var openingBytes: [UInt8] {
        // The end of the object: a line feed and a brace.
        value.encoded().dropLast(2) + Array(",\n".utf8)
    }

    private var value: OrderedJSON {
        .object([
            (
                "health",
                .object([
                    ("state", .string(show.state)), ("error", .string(orNull: show.error)),
                    ("status", .int(orNull: show.httpStatus)),
                    ("url", .string(RedactedURL.withoutUserInfo(show.url))),
                    ("final_url", .string(orNull: show.finalURL.map(RedactedURL.withoutUserInfo))),
                    ("content_type", .string(orNull: show.contentType)), ("etag", .string(orNull: show.etag)),
                    ("last_modified", .string(orNull: show.lastModified)),
                    ("last_refresh", .string(orNull: show.lastRefresh.map(TimeText.iso8601))),
                    ("next_refresh", .string(orNull: show.nextRefresh.map(TimeText.iso8601))),
                    ("episodes", .int(Int64(show.episodes))), ("cached", .int(Int64(show.cached))),
                ])
            )
        ])
    }
}
