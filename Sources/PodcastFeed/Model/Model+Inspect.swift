/// A model type that is written as a JSON object: every stored property is a member, `null` if absent.
protocol JSONWritable {
    func writeMembers(to writer: inout JSONWriter)
}

extension JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }
}

extension JSONWriter {
    mutating func member(_ name: StaticString, _ value: String?) {
        self.name(name)
        string(orNull: value)
    }

    mutating func member(_ name: StaticString, _ value: Bool?) {
        self.name(name)
        bool(orNull: value)
    }

    mutating func member(_ name: StaticString, _ value: (some BinaryInteger)?) {
        self.name(name)
        int(orNull: value)
    }

    mutating func member(_ name: StaticString, _ value: Double?) {
        self.name(name)
        double(orNull: value)
    }

    mutating func member(_ name: StaticString, _ value: PublicationDate?) {
        member(name, value?.iso8601)
    }

    mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
        self.name(name)
        if let value { value.write(to: &self) } else { null() }
    }

    mutating func member(_ name: StaticString, _ values: [some JSONWritable]) {
        self.name(name)
        array(values) { $0.write(to: &$1) }
    }

    mutating func member<Element>(
        _ name: StaticString, _ values: [Element], _ write: (Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        array(values, write)
    }

    mutating func array<Element>(_ elements: [Element], _ write: (Element, inout JSONWriter) -> Void) {
        beginArray()
        for value in elements {
            element()
            write(value, &self)
        }
        endArray()
    }
}

extension Item: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("guid", guid)
        writer.member("title", title)
        writer.member("published", published)
        writer.member("duration", duration)
        writer.member("season", season)
        writer.member("season_name", seasonName)
        writer.member("episode", episode)
        writer.member("episode_display", episodeDisplay)
        writer.member("episode_type", episodeType)
        writer.member("explicit", explicit)
        writer.member("blocked", isBlocked)
        writer.member("link", link)
        writer.member("description", description)
        writer.member("image", image)
        writer.member("author", author)
        writer.member("enclosures", enclosures)
        writer.member("attachments", attachments)
        writer.member("alternates", alternates)
        writer.member("transcripts", transcripts)
        writer.member("chapters_url", chaptersURL)
        writer.member("chapters", chapters)
        writer.member("persons", persons)
        writer.member("soundbites", soundbites)
        writer.member("tags", tags.isEmpty ? nil : tags)
        writer.member("line", line)
    }
}

extension Enclosure: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", url)
        writer.member("length", length)
        writer.member("type", type)
    }
}

extension Transcript: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", url)
        writer.member("type", type)
        writer.member("language", language)
        writer.member("relation", relation)
    }
}

extension Chapter: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("start", start)
        writer.member("title", title)
        writer.member("link", link)
        writer.member("image", image)
    }
}

extension Diagnostic: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("line", line)
        writer.member("message", message)
    }
}

extension Person: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("role", role)
        writer.member("group", group)
        writer.member("image", image)
        writer.member("link", link)
    }
}

extension Funding: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", url)
        writer.member("title", title)
    }
}

extension Soundbite: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("start", start)
        writer.member("duration", duration)
        writer.member("title", title)
    }
}

extension Trailer: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("title", title)
        writer.member("media", media)
        writer.member("published", published)
        writer.member("season", season)
    }
}

extension LiveItem: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("status", status)
        writer.member("start", start)
        writer.member("end", end)
        writer.member("item", item)
    }
}

extension AlternateEnclosure: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("type", type)
        writer.member("length", length)
        writer.member("bit_rate", bitRate)
        writer.member("height", height)
        writer.member("language", language)
        writer.member("title", title)
        writer.member("relation", relation)
        writer.member("codecs", codecs)
        writer.member("default", isDefault)
        writer.member("sources", sources)
        writer.member("integrity", integrity)
    }
}

extension AlternateEnclosure.Source: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("url", url)
        writer.member("type", type)
    }
}

extension AlternateEnclosure.Integrity: JSONWritable {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("type", type)
        writer.member("value", value)
    }
}
