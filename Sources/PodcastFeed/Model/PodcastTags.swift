/// The `podcast:` elements that a show and an episode may both have.
package struct PodcastTags: Sendable, Equatable, Codable, JSONObject {
    package var locations: [Location] = []
    package var license: License?
    /// `podcast:txt`: free text for programs, such as proofs of the feed's ownership.
    package var texts: [TextRecord] = []
    package var values: [ValueBlock] = []
    /// Pictures of any shape and purpose (`podcast:image`), including the square art that the parser may have chosen as
    /// the `image` of the show or the episode.
    package var images: [PodcastImage] = []
    package var chats: [Chat] = []
    package var socialInteracts: [SocialInteract] = []
    /// Other places where the content can be found (`podcast:contentLink`).
    package var contentLinks: [WebLink] = []
    /// References to other feeds and items, such as the songs of a playlist.
    package var remoteItems: [RemoteItem] = []

    package var isEmpty: Bool { self == PodcastTags() }

    var members: JSONMembers {
        [
            "locations": locations, "license": license, "texts": texts, "values": values, "images": images,
            "chats": chats, "social_interacts": socialInteracts, "content_links": contentLinks,
            "remote_items": remoteItems,
        ]
    }
}

/// A place that a show or an episode is about, or where it is made (`podcast:location`).
package struct Location: Sendable, Equatable, Codable, JSONObject {
    package var name: String
    /// `subject` or `creator`, lower case.
    package var relation: String?
    /// The coordinates as a URI (RFC 5870), such as `geo:33.75,-84.39`.
    package var geo: String?
    /// The identifier of an OpenStreetMap object, such as `R113314`.
    package var osm: String?
    /// The country code (ISO 3166-1), upper case.
    package var country: String?

    var members: JSONMembers { ["name": name, "relation": relation, "geo": geo, "osm": osm, "country": country] }
}

/// The terms of use (`podcast:license`).
package struct License: Sendable, Equatable, Codable, JSONObject {
    /// An SPDX identifier, or a name chosen by the publisher.
    package var name: String
    package var url: String?

    var members: JSONMembers { ["name": name, "url": url] }
}

/// Free text (`podcast:txt`).
package struct TextRecord: Sendable, Equatable, Codable, JSONObject {
    package var text: String
    package var purpose: String?

    var members: JSONMembers { ["text": text, "purpose": purpose] }
}

/// A public discussion of an episode (`podcast:socialInteract`).
package struct SocialInteract: Sendable, Equatable, Codable, JSONObject {
    /// `activitypub`, `bluesky`, …; `disabled` if the publisher wants no discussion. Lower case.
    package var network: String
    package var url: String?
    package var accountID: String?
    package var accountURL: String?
    /// The position in the order of display; the lowest comes first.
    package var priority: Int?

    var members: JSONMembers {
        [
            "network": network, "url": url, "account_id": accountID, "account_url": accountURL, "priority": priority,
        ]
    }
}

/// A chat room for listeners (`podcast:chat`).
package struct Chat: Sendable, Equatable, Codable, JSONObject {
    package var server: String
    /// `irc`, `xmpp`, `nostr`, `matrix`, …, lower case.
    package var network: String?
    package var accountID: String?
    package var space: String?

    var members: JSONMembers { ["server": server, "network": network, "account_id": accountID, "space": space] }
}

/// A reference to another feed, or to an item of one (`podcast:remoteItem`).
package struct RemoteItem: Sendable, Equatable, Codable, JSONObject {
    /// `podcast:guid` of the feed.
    package var feedGUID: String?
    package var feedURL: String?
    package var itemGUID: String?
    /// Lower case.
    package var medium: String?
    package var title: String?

    var members: JSONMembers {
        [
            "feed_guid": feedGUID, "feed_url": feedURL, "item_guid": itemGUID, "medium": medium, "title": title,
        ]
    }
}

/// A picture (`podcast:image`).
package struct PodcastImage: Sendable, Equatable, Codable, JSONObject {
    package var url: String
    package var alternativeText: String?
    package var aspectRatio: String?
    package var width: Int?
    package var height: Int?
    /// A MIME type, lower case.
    package var type: String?
    /// Words such as `artwork` and `social`, lower case.
    package var purpose: String?

    var members: JSONMembers {
        [
            "url": url, "alternative_text": alternativeText, "aspect_ratio": aspectRatio, "width": width,
            "height": height, "type": type, "purpose": purpose,
        ]
    }
}

/// A recipient of a part of the listeners' payments (`podcast:valueRecipient`).
package struct ValueRecipient: Sendable, Equatable, Codable, JSONObject {
    package var name: String?
    /// `node`, `lnaddress`, …, lower case.
    package var type: String?
    package var address: String = ""
    package var customKey: String?
    package var customValue: String?
    /// The number of shares: the recipient's part of a payment is this number divided by the sum over all recipients.
    package var split: Int?
    /// Whether the share is a fee, deducted before the payment is divided.
    package var isFee: Bool = false

    var members: JSONMembers {
        [
            "name": name, "type": type, "address": address, "custom_key": customKey, "custom_value": customValue,
            "split": split, "fee": isFee,
        ]
    }
}

/// A part of an episode during which payments go to other recipients (`podcast:valueTimeSplit`).
package struct ValueTimeSplit: Sendable, Equatable, Codable, JSONObject {
    /// Seconds from the episode's start.
    package var start: Double
    /// The duration in seconds.
    package var duration: Double
    /// The start of the part within the remote item, in seconds.
    package var remoteStart: Double?
    /// The percentage of a payment that goes to the remote item.
    package var remotePercentage: Int?
    package var remoteItem: RemoteItem?
    package var recipients: [ValueRecipient] = []

    var members: JSONMembers {
        [
            "start": start, "duration": duration, "remote_start": remoteStart, "remote_percentage": remotePercentage,
            "remote_item": remoteItem, "recipients": recipients,
        ]
    }
}

/// A way to pay while listening (`podcast:value`).
package struct ValueBlock: Sendable, Equatable, Codable, JSONObject {
    /// `lightning`, …, lower case.
    package var type: String
    /// `keysend`, `lnaddress`, …, lower case.
    package var method: String?
    /// The suggested payment per minute, in the currency of the type.
    package var suggested: Double?
    package var recipients: [ValueRecipient] = []
    package var timeSplits: [ValueTimeSplit] = []

    var members: JSONMembers {
        [
            "type": type, "method": method, "suggested": suggested, "recipients": recipients,
            "time_splits": timeSplits,
        ]
    }
}

/// A request to a platform about listing the show (`podcast:block`).
package struct PlatformBlock: Sendable, Equatable, Codable, JSONObject {
    /// The platform's name; `nil` for all of them.
    package var platform: String?
    /// Whether the platform is asked not to list the show.
    package var isBlocked: Bool

    var members: JSONMembers { ["platform": platform, "blocked": isBlocked] }
}

/// The schedule of new episodes (`podcast:updateFrequency`).
package struct UpdateRule: Sendable, Equatable, Codable, JSONObject {
    /// A recurrence rule (RFC 5545, section 3.3.10).
    package var rule: String?
    package var start: PublicationDate?
    /// The schedule in words.
    package var text: String?

    var members: JSONMembers { ["rule": rule, "start": start, "text": text] }
}

extension PodcastImage {
    /// Whether the image may be square art: its attributes state no other purpose and no other aspect ratio.
    var isArt: Bool {
        if let purpose, !purpose.split(separator: " ").contains("artwork") { return false }
        let sides = (aspectRatio ?? "").split(whereSeparator: { $0 == "/" || $0 == ":" || $0 == " " })
        return sides.count != 2 || sides[0] == sides[1]
    }
}
