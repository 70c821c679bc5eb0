/// A person involved (`podcast:person`).
package struct Person: Sendable, Equatable, Codable {
    package var name: String
    /// The person's role in lower case; `host` by default, as in the specification.
    package var role: String
    /// The group of the role in lower case; `cast` by default.
    package var group: String
    package var image: String?
    package var link: String?

    package init(name: String, role: String = "host", group: String = "cast", image: String? = nil, link: String? = nil)
    {
        self.name = name
        self.role = role
        self.group = group
        self.image = image
        self.link = link
    }
}

/// A page for payments by listeners (`podcast:funding`).
package struct Funding: Sendable, Equatable, Codable {
    package var url: String
    package var title: String?

    package init(url: String, title: String? = nil) {
        self.url = url
        self.title = title
    }
}

/// A short excerpt that advertises an episode (`podcast:soundbite`).
package struct Soundbite: Sendable, Equatable, Codable {
    /// Seconds from the start.
    package var start: Double
    /// Seconds.
    package var duration: Double
    package var title: String?

    package init(start: Double, duration: Double, title: String? = nil) {
        self.start = start
        self.duration = duration
        self.title = title
    }
}

/// A trailer of a show or a season (`podcast:trailer`).
package struct Trailer: Sendable, Equatable, Codable {
    package var title: String?
    package var media: Enclosure
    package var published: PublicationDate?
    package var season: Int?

    package init(media: Enclosure, title: String? = nil, published: PublicationDate? = nil, season: Int? = nil) {
        self.media = media
        self.title = title
        self.published = published
        self.season = season
    }
}

/// A live stream (`podcast:liveItem`).
package struct LiveItem: Sendable, Equatable {
    /// `pending`, `live` or `ended`, lower case.
    package var status: String?
    package var start: PublicationDate?
    package var end: PublicationDate?
    /// The other contents of the element, the same as those of an episode.
    package var item: Item

    package init(status: String?, start: PublicationDate?, end: PublicationDate?, item: Item) {
        self.status = status
        self.start = start
        self.end = end
        self.item = item
    }
}

/// Another encoding of an episode (`podcast:alternateEnclosure`), at one or more addresses.
package struct AlternateEnclosure: Sendable, Equatable {
    /// One address of the encoding.
    package struct Source: Sendable, Equatable {
        /// The absolute address, of any scheme, such as `ipfs` or `magnet`.
        package var url: String
        /// The MIME type at this address, such as a torrent's, if it differs from that of the encoding.
        package var type: String?

        package init(url: String, type: String? = nil) {
            self.url = url
            self.type = type
        }
    }

    /// The verification of the bytes.
    package struct Integrity: Sendable, Equatable {
        /// `sri` (W3C Subresource Integrity) or `pgp-signature`, lower case.
        package var type: String
        package var value: String

        package init(type: String, value: String) {
            self.type = type
            self.value = value
        }
    }

    package var type: String?
    /// Bytes as the feed claims; `nil` when absent, zero, negative or no number.
    package var length: Int64?
    /// Bits per second.
    package var bitRate: Double?
    /// The height of a video in pixels.
    package var height: Int?
    package var language: String?
    package var title: String?
    /// The publisher's name for the encoding, the same in each item.
    package var relation: String?
    package var codecs: String?
    /// Whether this equals the item's enclosure.
    package var isDefault: Bool
    package var sources: [Source]
    package var integrity: Integrity?

    package init() {
        isDefault = false
        sources = []
    }

    /// The addresses with the schemes http and https.
    package var enclosures: [Enclosure] {
        sources.compactMap { source in
            guard URLReference.isHTTP(source.url) else { return nil }
            return Enclosure(url: source.url, length: length, type: source.type ?? type)
        }
    }
}

extension Feed {
    /// Returns the people of an item, otherwise those of the show.
    package func persons(of item: Item) -> [Person] {
        item.persons.isEmpty ? persons : item.persons
    }
}
