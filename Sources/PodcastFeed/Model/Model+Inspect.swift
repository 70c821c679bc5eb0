/// A value that is written as JSON.
protocol JSONWritable {
    func writeJSON(to writer: inout JSONWriter)
}

/// The members of an object, in their order; `null` for an absent value.
typealias JSONMembers = KeyValuePairs<StaticString, (any JSONWritable)?>

/// A model type that is written as a JSON object: every stored property is a member, `null` if absent.
protocol JSONObject: JSONWritable {
    var members: JSONMembers { get }
}

extension JSONObject {
    func writeJSON(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(members)
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func members(_ members: JSONMembers) {
        for (name, value) in members {
            self.name(name)
            if let value { value.writeJSON(to: &self) } else { null() }
        }
    }
}

extension String: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.int(Int64(self)) }
}

extension Int64: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.int(self) }
}

extension Double: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.double(self) }
}

extension PublicationDate: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) { writer.string(iso8601) }
}

extension Array: JSONWritable where Element: JSONWritable {
    func writeJSON(to writer: inout JSONWriter) {
        writer.beginArray()
        for value in self {
            writer.element()
            value.writeJSON(to: &writer)
        }
        writer.endArray()
    }
}

extension Item: JSONObject {
    var members: JSONMembers {
        [
            "guid": guid, "title": title, "published": published, "duration": duration, "season": season,
            "season_name": seasonName, "episode": episode, "episode_display": episodeDisplay,
            "episode_type": episodeType, "explicit": explicit, "blocked": isBlocked, "link": link,
            "description": description, "image": image, "author": author, "enclosures": enclosures,
            "attachments": attachments, "alternates": alternates, "transcripts": transcripts,
            "chapters_url": chaptersURL, "chapters": chapters, "persons": persons, "soundbites": soundbites,
            "tags": tags.isEmpty ? nil : tags, "line": line,
        ]
    }
}

extension Enclosure: JSONObject {
    var members: JSONMembers { ["url": url, "length": length, "type": type] }
}

extension Transcript: JSONObject {
    var members: JSONMembers { ["url": url, "type": type, "language": language, "relation": relation] }
}

extension Chapter: JSONObject {
    var members: JSONMembers { ["start": start, "title": title, "link": link, "image": image] }
}

extension Diagnostic: JSONObject {
    var members: JSONMembers { ["line": line, "message": message] }
}

extension Person: JSONObject {
    var members: JSONMembers { ["name": name, "role": role, "group": group, "image": image, "link": link] }
}

extension Funding: JSONObject {
    var members: JSONMembers { ["url": url, "title": title] }
}

extension Soundbite: JSONObject {
    var members: JSONMembers { ["start": start, "duration": duration, "title": title] }
}

extension Trailer: JSONObject {
    var members: JSONMembers { ["title": title, "media": media, "published": published, "season": season] }
}

extension LiveItem: JSONObject {
    var members: JSONMembers { ["status": status, "start": start, "end": end, "item": item] }
}

extension AlternateEnclosure: JSONObject {
    var members: JSONMembers {
        [
            "type": type, "length": length, "bit_rate": bitRate, "height": height, "language": language,
            "title": title, "relation": relation, "codecs": codecs, "default": isDefault, "sources": sources,
            "integrity": integrity,
        ]
    }
}

extension AlternateEnclosure.Source: JSONObject {
    var members: JSONMembers { ["url": url, "type": type] }
}

extension AlternateEnclosure.Integrity: JSONObject {
    var members: JSONMembers { ["type": type, "value": value] }
}

extension PodcastTags: JSONObject {
    var members: JSONMembers {
        [
            "locations": locations, "license": license, "texts": texts, "values": values, "images": images,
            "chats": chats, "social_interacts": socialInteracts, "content_links": contentLinks,
            "remote_items": remoteItems,
        ]
    }
}

extension Location: JSONObject {
    var members: JSONMembers { ["name": name, "relation": relation, "geo": geo, "osm": osm, "country": country] }
}

extension License: JSONObject {
    var members: JSONMembers { ["name": name, "url": url] }
}

extension TextRecord: JSONObject {
    var members: JSONMembers { ["text": text, "purpose": purpose] }
}

extension SocialInteract: JSONObject {
    var members: JSONMembers {
        [
            "network": network, "url": url, "account_id": accountID, "account_url": accountURL, "priority": priority,
        ]
    }
}

extension ContentLink: JSONObject {
    var members: JSONMembers { ["url": url, "title": title] }
}

extension Chat: JSONObject {
    var members: JSONMembers { ["server": server, "network": network, "account_id": accountID, "space": space] }
}

extension RemoteItem: JSONObject {
    var members: JSONMembers {
        [
            "feed_guid": feedGUID, "feed_url": feedURL, "item_guid": itemGUID, "medium": medium, "title": title,
        ]
    }
}

extension PodcastImage: JSONObject {
    var members: JSONMembers {
        [
            "url": url, "alternative_text": alternativeText, "aspect_ratio": aspectRatio, "width": width,
            "height": height, "type": type, "purpose": purpose,
        ]
    }
}

extension ValueBlock: JSONObject {
    var members: JSONMembers {
        [
            "type": type, "method": method, "suggested": suggested, "recipients": recipients,
            "time_splits": timeSplits,
        ]
    }
}

extension ValueRecipient: JSONObject {
    var members: JSONMembers {
        [
            "name": name, "type": type, "address": address, "custom_key": customKey, "custom_value": customValue,
            "split": split, "fee": isFee,
        ]
    }
}

extension ValueTimeSplit: JSONObject {
    var members: JSONMembers {
        [
            "start": start, "duration": duration, "remote_start": remoteStart, "remote_percentage": remotePercentage,
            "remote_item": remoteItem, "recipients": recipients,
        ]
    }
}

extension PlatformBlock: JSONObject {
    var members: JSONMembers { ["platform": platform, "blocked": isBlocked] }
}

extension UpdateRule: JSONObject {
    var members: JSONMembers { ["rule": rule, "start": start, "text": text] }
}
