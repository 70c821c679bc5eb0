internal import Platform

/// A person who contributes to a show or an episode (`podcast:person`).
package struct Person: Sendable, Equatable, Codable {
    package var name: String
    /// The person's role in lower case; `host` by default, as in the specification.
    package var role: String = "host"
    /// The group of the role in lower case; `cast` by default.
    package var group: String = "cast"
    package var image: String?
    package var link: String?
}

/// A web page where listeners can donate or pay (`podcast:funding`).
package struct Funding: Sendable, Equatable, Codable {
    package var url: String
    package var title: String?
}

/// A short excerpt that advertises an episode (`podcast:soundbite`).
package struct Soundbite: Sendable, Equatable, Codable {
    /// Seconds from the episode's start.
    package var start: Double
    /// The duration in seconds.
    package var duration: Double
    package var title: String?
}

/// A trailer of a show or a season (`podcast:trailer`).
package struct Trailer: Sendable, Equatable, Codable {
    package var media: Enclosure
    package var title: String?
    package var published: PublicationDate?
    package var season: Int?
}

/// A live stream (`podcast:liveItem`).
package struct LiveItem: Sendable, Equatable {
    /// `pending`, `live` or `ended`, lower case.
    package var status: String?
    package var start: PublicationDate?
    package var end: PublicationDate?
    /// The element's children, parsed like those of an episode's `item`.
    package var item: Item
}

/// Another encoding of an episode (`podcast:alternateEnclosure`), at one or more URLs.
package struct AlternateEnclosure: Sendable, Equatable {
    /// One URL of the encoding.
    package struct Source: Sendable, Equatable {
        /// The absolute URL, of any scheme, such as `ipfs` or `magnet`.
        package var url: String
        /// The MIME type of the file at this URL if it is not the encoding itself but, for example, a torrent file.
        package var type: String?
    }

    /// The hash or signature to verify the file with (`podcast:integrity`).
    package struct Integrity: Sendable, Equatable {
        /// `sri` (W3C Subresource Integrity) or `pgp-signature`, lower case.
        package var type: String
        package var value: String
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

    package init() {}

    /// The sources with an http or https URL.
    package var enclosures: [Enclosure] {
        sources.compactMap { source in
            guard WebAddress.isValid(source.url) else { return nil }
            return Enclosure(url: source.url, length: length, type: source.type ?? type)
        }
    }
}

extension Feed {
    /// Returns the people of an item, or those of the show if the item lists none.
    package func persons(of item: Item) -> [Person] { item.persons.isEmpty ? persons : item.persons }
}
