internal import Platform

/// A person who contributes to a show or an episode (`podcast:person`).
package struct Person: Sendable, Equatable, Codable, JSONObject {
    package var name: String
    /// The person's role in lower case; `host` by default, as in the specification.
    package var role: String = "host"
    /// The group of the role in lower case; `cast` by default.
    package var group: String = "cast"
    package var image: String?
    package var link: String?

    var members: JSONMembers { ["name": name, "role": role, "group": group, "image": image, "link": link] }
}

/// An address with a title: a page where listeners can pay (`podcast:funding`), another place where the content can be
/// found (`podcast:contentLink`), or a feed that a web page names.
package struct WebLink: Sendable, Equatable, Codable, JSONObject {
    package var url: String
    package var title: String?

    var members: JSONMembers { ["url": url, "title": title] }
}

/// A short excerpt that advertises an episode (`podcast:soundbite`).
package struct Soundbite: Sendable, Equatable, Codable, JSONObject {
    /// Seconds from the episode's start.
    package var start: Double
    /// The duration in seconds.
    package var duration: Double
    package var title: String?

    var members: JSONMembers { ["start": start, "duration": duration, "title": title] }
}

/// A trailer of a show or a season (`podcast:trailer`).
package struct Trailer: Sendable, Equatable, Codable, JSONObject {
    package var media: Enclosure
    package var title: String?
    package var published: PublicationDate?
    package var season: Int?

    var members: JSONMembers { ["title": title, "media": media, "published": published, "season": season] }
}

/// A live stream (`podcast:liveItem`).
package struct LiveItem: Sendable, Equatable, JSONObject {
    /// `pending`, `live` or `ended`, lower case.
    package var status: String?
    package var start: PublicationDate?
    package var end: PublicationDate?
    /// The element's children, parsed like those of an episode's `item`.
    package var item: Item

    var members: JSONMembers { ["status": status, "start": start, "end": end, "item": item] }
}

/// Another encoding of an episode (`podcast:alternateEnclosure`), at one or more URLs.
package struct AlternateEnclosure: Sendable, Equatable, JSONObject {
    /// One URL of the encoding.
    package struct Source: Sendable, Equatable, JSONObject {
        /// The absolute URL, of any scheme, such as `ipfs` or `magnet`.
        package var url: String
        /// The MIME type of the file at this URL if it is not the encoding itself but, for example, a torrent file.
        package var type: String?

        var members: JSONMembers { ["url": url, "type": type] }
    }

    /// The hash or signature to verify the file with (`podcast:integrity`).
    package struct Integrity: Sendable, Equatable, JSONObject {
        /// `sri` (W3C Subresource Integrity) or `pgp-signature`, lower case.
        package var type: String
        package var value: String

        var members: JSONMembers { ["type": type, "value": value] }
    }

    /// The MIME type in lower case.
    package var type: String?
    /// The size in bytes that the feed states; `nil` if it is missing, zero, negative or not a number.
    package var length: Int64?
    /// Bits per second.
    package var bitRate: Double?
    /// The height of a video in pixels.
    package var height: Int?
    package var language: String?
    package var title: String?
    /// The attribute `rel`: the publisher's label for this kind of encoding, the same in all items.
    package var relation: String?
    package var codecs: String?
    /// Whether this is the same file as the item's enclosure, according to the publisher.
    package var isDefault = false
    package var sources: [Source] = []
    package var integrity: Integrity?

    /// The sources with an http or https URL.
    package var enclosures: [Enclosure] {
        sources.compactMap { source in
            guard WebAddress.isValid(source.url) else { return nil }
            return Enclosure(url: source.url, length: length, type: source.type ?? type)
        }
    }

    var members: JSONMembers {
        [
            "type": type, "length": length, "bit_rate": bitRate, "height": height, "language": language,
            "title": title, "relation": relation, "codecs": codecs, "default": isDefault, "sources": sources,
            "integrity": integrity,
        ]
    }
}
