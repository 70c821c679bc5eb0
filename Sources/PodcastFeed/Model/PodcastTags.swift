/// The `podcast:` elements that a show and an episode may both have.
package struct PodcastTags: Sendable, Equatable, Codable {
    package var locations: [Location] = []
    package var license: License?
    /// `podcast:txt`: free text for programs, such as proofs of who owns the feed.
    package var texts: [TextRecord] = []
    package var values: [ValueBlock] = []
    /// Pictures of any shape and purpose; the art is among them, and also in `image`.
    package var images: [PodcastImage] = []
    package var chats: [Chat] = []
    package var socialInteracts: [SocialInteract] = []
    package var contentLinks: [ContentLink] = []
    /// Other feeds and items that are named here, as in a list of songs.
    package var remoteItems: [RemoteItem] = []

    package init() {}

    package var isEmpty: Bool { self == PodcastTags() }
}

/// A place that something is about or made at (`podcast:location`).
package struct Location: Sendable, Equatable, Codable {
    package var name: String
    /// `subject` or `creator`, lower case.
    package var relation: String?
    /// RFC 5870, `geo:33.75,-84.39`.
    package var geo: String?
    /// An object of OpenStreetMap, `R113314`.
    package var osm: String?
    /// ISO 3166-1, upper case.
    package var country: String?

    package init(name: String, relation: String? = nil, geo: String? = nil, osm: String? = nil, country: String? = nil)
    {
        self.name = name
        self.relation = relation
        self.geo = geo
        self.osm = osm
        self.country = country
    }
}

/// The terms of use (`podcast:license`).
package struct License: Sendable, Equatable, Codable {
    /// An SPDX identifier or a name of the publisher's own.
    package var name: String
    package var url: String?

    package init(name: String, url: String? = nil) {
        self.name = name
        self.url = url
    }
}

/// Free text (`podcast:txt`).
package struct TextRecord: Sendable, Equatable, Codable {
    package var text: String
    package var purpose: String?

    package init(text: String, purpose: String? = nil) {
        self.text = text
        self.purpose = purpose
    }
}

/// Where an episode is discussed (`podcast:socialInteract`).
package struct SocialInteract: Sendable, Equatable, Codable {
    /// `activitypub`, `bluesky`, …; `disabled` where the publisher wants no discussion. Lower case.
    package var network: String
    package var url: String?
    package var accountID: String?
    package var accountURL: String?
    /// The lower, the sooner to be shown.
    package var priority: Int?

    package init(
        network: String, url: String? = nil, accountID: String? = nil, accountURL: String? = nil, priority: Int? = nil
    ) {
        self.network = network
        self.url = url
        self.accountID = accountID
        self.accountURL = accountURL
        self.priority = priority
    }
}

/// Another place where the content can be found (`podcast:contentLink`).
package struct ContentLink: Sendable, Equatable, Codable {
    package var url: String
    package var title: String?

    package init(url: String, title: String? = nil) {
        self.url = url
        self.title = title
    }
}

/// A room for listeners (`podcast:chat`).
package struct Chat: Sendable, Equatable, Codable {
    package var server: String
    /// `irc`, `xmpp`, `nostr`, `matrix`, …, lower case.
    package var network: String?
    package var accountID: String?
    package var space: String?

    package init(server: String, network: String? = nil, accountID: String? = nil, space: String? = nil) {
        self.server = server
        self.network = network
        self.accountID = accountID
        self.space = space
    }
}

/// A feed, or an item of a feed, by its identifiers (`podcast:remoteItem`).
package struct RemoteItem: Sendable, Equatable, Codable {
    /// `podcast:guid` of the feed.
    package var feedGUID: String?
    package var feedURL: String?
    package var itemGUID: String?
    /// Lower case.
    package var medium: String?
    package var title: String?

    package init(
        feedGUID: String? = nil, feedURL: String? = nil, itemGUID: String? = nil, medium: String? = nil,
        title: String? = nil
    ) {
        self.feedGUID = feedGUID
        self.feedURL = feedURL
        self.itemGUID = itemGUID
        self.medium = medium
        self.title = title
    }
}

/// A picture (`podcast:image`).
package struct PodcastImage: Sendable, Equatable, Codable {
    package var url: String
    package var alternativeText: String?
    package var aspectRatio: String?
    package var width: Int?
    package var height: Int?
    /// A MIME type, lower case.
    package var type: String?
    /// Words such as `artwork` and `social`, lower case.
    package var purpose: String?

    package init(
        url: String, alternativeText: String? = nil, aspectRatio: String? = nil, width: Int? = nil, height: Int? = nil,
        type: String? = nil, purpose: String? = nil
    ) {
        self.url = url
        self.alternativeText = alternativeText
        self.aspectRatio = aspectRatio
        self.width = width
        self.height = height
        self.type = type
        self.purpose = purpose
    }
}

/// Somebody who gets a part of what listeners pay.
package struct ValueRecipient: Sendable, Equatable, Codable {
    package var name: String?
    /// `node`, `lnaddress`, …, lower case.
    package var type: String?
    package var address: String
    package var customKey: String?
    package var customValue: String?
    /// Shares: of all recipients together the whole is divided by their sum.
    package var split: Int?
    /// Whether the part is taken off first.
    package var isFee: Bool

    package init(
        name: String? = nil, type: String? = nil, address: String = "", customKey: String? = nil,
        customValue: String? = nil, split: Int? = nil, isFee: Bool = false
    ) {
        self.name = name
        self.type = type
        self.address = address
        self.customKey = customKey
        self.customValue = customValue
        self.split = split
        self.isFee = isFee
    }
}

/// A part of an episode in which others are paid (`podcast:valueTimeSplit`).
package struct ValueTimeSplit: Sendable, Equatable, Codable {
    /// Seconds.
    package var start: Double
    /// Seconds.
    package var duration: Double
    /// Where in the remote item the part begins, in seconds.
    package var remoteStart: Double?
    package var remotePercentage: Int?
    package var remoteItem: RemoteItem?
    package var recipients: [ValueRecipient]

    package init(
        start: Double, duration: Double, remoteStart: Double? = nil, remotePercentage: Int? = nil,
        remoteItem: RemoteItem? = nil, recipients: [ValueRecipient] = []
    ) {
        self.start = start
        self.duration = duration
        self.remoteStart = remoteStart
        self.remotePercentage = remotePercentage
        self.remoteItem = remoteItem
        self.recipients = recipients
    }
}

/// A way to pay while listening (`podcast:value`).
package struct ValueBlock: Sendable, Equatable, Codable {
    /// `lightning`, …, lower case.
    package var type: String
    /// `keysend`, `lnaddress`, …, lower case.
    package var method: String?
    /// In the currency of the type, for a minute.
    package var suggested: Double?
    package var recipients: [ValueRecipient]
    package var timeSplits: [ValueTimeSplit]

    package init(
        type: String, method: String? = nil, suggested: Double? = nil, recipients: [ValueRecipient] = [],
        timeSplits: [ValueTimeSplit] = []
    ) {
        self.type = type
        self.method = method
        self.suggested = suggested
        self.recipients = recipients
        self.timeSplits = timeSplits
    }
}

/// Whether a platform is asked not to list the show (`podcast:block`).
package struct PlatformBlock: Sendable, Equatable, Codable {
    /// The platform's name; `nil` for all of them.
    package var platform: String?
    package var isBlocked: Bool

    package init(platform: String? = nil, isBlocked: Bool) {
        self.platform = platform
        self.isBlocked = isBlocked
    }
}

/// When new episodes come (`podcast:updateFrequency`).
package struct UpdateRule: Sendable, Equatable, Codable {
    /// A recurrence rule (RFC 5545, section 3.3.10).
    package var rule: String?
    package var start: PublicationDate?
    /// The rule in words, for people.
    package var text: String?

    package init(rule: String? = nil, start: PublicationDate? = nil, text: String? = nil) {
        self.rule = rule
        self.start = start
        self.text = text
    }
}

extension PodcastImage {
    /// Whether it is square art, as far as it says.
    var isArt: Bool {
        if let purpose, !purpose.split(separator: " ").contains("artwork") { return false }
        let sides = (aspectRatio ?? "").split(whereSeparator: { $0 == "/" || $0 == ":" || $0 == " " })
        return sides.count != 2 || sides[0] == sides[1]
    }
}
