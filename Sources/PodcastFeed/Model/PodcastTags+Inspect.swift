// The `podcast:` elements in the output of `inspect --json`.

extension PodcastTags: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("locations", locations)
        writer.member("license", license)
        writer.member("texts", texts)
        writer.member("values", values)
        writer.member("images", images)
        writer.member("chats", chats)
        writer.member("social_interacts", socialInteracts)
        writer.member("content_links", contentLinks)
        writer.member("remote_items", remoteItems)
    }
}

extension Location: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("relation", relation)
        writer.member("geo", geo)
        writer.member("osm", osm)
        writer.member("country", country)
    }
}

extension License: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("url", url)
    }
}

extension TextRecord: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("text", text)
        writer.member("purpose", purpose)
    }
}

extension SocialInteract: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("network", network)
        writer.member("url", url)
        writer.member("account_id", accountID)
        writer.member("account_url", accountURL)
        writer.member("priority", priority)
    }
}

extension ContentLink: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", url)
        writer.member("title", title)
    }
}

extension Chat: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("server", server)
        writer.member("network", network)
        writer.member("account_id", accountID)
        writer.member("space", space)
    }
}

extension RemoteItem: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("feed_guid", feedGUID)
        writer.member("feed_url", feedURL)
        writer.member("item_guid", itemGUID)
        writer.member("medium", medium)
        writer.member("title", title)
    }
}

extension PodcastImage: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", url)
        writer.member("alternative_text", alternativeText)
        writer.member("aspect_ratio", aspectRatio)
        writer.member("width", width)
        writer.member("height", height)
        writer.member("type", type)
        writer.member("purpose", purpose)
    }
}

extension ValueBlock: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("type", type)
        writer.member("method", method)
        writer.member("suggested", suggested)
        writer.member("recipients", recipients)
        writer.member("time_splits", timeSplits)
    }
}

extension ValueRecipient: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("type", type)
        writer.member("address", address)
        writer.member("custom_key", customKey)
        writer.member("custom_value", customValue)
        writer.member("split", split)
        writer.member("fee", isFee)
    }
}

extension ValueTimeSplit: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("start", start)
        writer.member("duration", duration)
        writer.member("remote_start", remoteStart)
        writer.member("remote_percentage", remotePercentage)
        writer.member("remote_item", remoteItem)
        writer.member("recipients", recipients)
    }
}

extension PlatformBlock: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("platform", platform)
        writer.member("blocked", isBlocked)
    }
}

extension UpdateRule: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("rule", rule)
        writer.member("start", start)
        writer.member("text", text)
    }
}
