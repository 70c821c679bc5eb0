/// Someone who takes part (`podcast:person`).
package struct Person: Sendable, Equatable {
    package var name: String
    /// What the person does, lower case; `host` when the feed does not say, as the specification has it.
    package var role: String
    /// The department of the role, lower case; `cast` when the feed does not say.
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

/// A page where listeners can pay (`podcast:funding`).
package struct Funding: Sendable, Equatable {
    package var url: String
    package var title: String?

    package init(url: String, title: String? = nil) {
        self.url = url
        self.title = title
    }
}

/// A part of an episode that makes one want to hear the rest (`podcast:soundbite`).
package struct Soundbite: Sendable, Equatable {
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

/// What a show or a season sounds like (`podcast:trailer`).
package struct Trailer: Sendable, Equatable {
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

/// A broadcast (`podcast:liveItem`).
package struct LiveItem: Sendable, Equatable {
    /// `pending`, `live` or `ended`, lower case.
    package var status: String?
    package var start: PublicationDate?
    package var end: PublicationDate?
    /// What else stands in the element, which is the same as in an episode's.
    package var item: Item

    package init(status: String?, start: PublicationDate?, end: PublicationDate?, item: Item) {
        self.status = status
        self.start = start
        self.end = end
        self.item = item
    }
}

/// Another rendition of an episode (`podcast:alternateEnclosure`), at one or more addresses.
package struct AlternateEnclosure: Sendable, Equatable {
    /// One address of the rendition.
    package struct Source: Sendable, Equatable {
        /// As written and made absolute; of any scheme, such as `ipfs` or `magnet`.
        package var url: String
        /// The MIME type of what is there, such as a torrent's, when it is not the rendition's own.
        package var type: String?

        package init(url: String, type: String? = nil) {
            self.url = url
            self.type = type
        }
    }

    /// How to tell that the bytes are the right ones.
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
    /// Lines of a video.
    package var height: Int?
    package var language: String?
    package var title: String?
    /// What the publisher calls the rendition, so that the same one can be found in each item.
    package var relation: String?
    package var codecs: String?
    /// Whether this is the same as the item's enclosure.
    package var isDefault: Bool
    package var sources: [Source]
    package var integrity: Integrity?

    package init() {
        isDefault = false
        sources = []
    }

    /// The addresses that can be asked over HTTP.
    package var enclosures: [Enclosure] {
        sources.compactMap { source in
            guard URLReference.isHTTP(source.url) else { return nil }
            return Enclosure(url: source.url, length: length, type: source.type ?? type)
        }
    }
}

extension Feed {
    /// Who takes part in an episode: the people of its item, else those of the show.
    package func persons(of item: Item) -> [Person] {
        item.persons.isEmpty ? persons : item.persons
    }
}
