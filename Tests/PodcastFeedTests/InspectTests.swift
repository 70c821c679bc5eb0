import Foundation
import Testing

@testable import PodcastFeed

/// The completeness of `inspect --json`: each stored property of the model is in its output.
@Suite struct InspectTests {
    /// Returns the JSON members of a value of the model.
    private func object(_ value: some JSONObject) throws -> [String: Any] {
        var writer = JSONWriter()
        value.writeJSON(to: &writer)
        return try #require(try JSONSerialization.jsonObject(with: Data(writer.bytes)) as? [String: Any])
    }

    /// Returns the JSON name of a property: `chapters_url` for `chaptersURL`, `default` for `isDefault`.
    private func memberName(_ label: String) -> String {
        var label = label
        for prefix in ["is"] where label.hasPrefix(prefix) && label.dropFirst(2).first?.isUppercase == true {
            label = String(label.dropFirst(2))
        }
        var name = ""
        var wasCapital = true
        for letter in label {
            if letter.isUppercase, !wasCapital { name += "_" }
            wasCapital = letter.isUppercase
            name += letter.lowercased()
        }
        return name
    }

    private func expectEveryProperty(_ value: some JSONObject) throws {
        let members = Set(try object(value).keys)
        for child in Mirror(reflecting: value).children {
            let name = memberName(child.label ?? "")
            #expect(members.contains(name), "\(type(of: value)).\(child.label ?? "") is not in the output")
        }
        #expect(members.count == Mirror(reflecting: value).children.count)
    }

    @Test func everyPropertyOfTheModelIsWritten() throws {
        var tags = PodcastTags()
        tags.values = [ValueBlock(type: "lightning")]
        try expectEveryProperty(Item())
        try expectEveryProperty(tags)
        try expectEveryProperty(Enclosure(url: "u"))
        try expectEveryProperty(Transcript(url: "u"))
        try expectEveryProperty(Chapter(start: 0))
        try expectEveryProperty(Diagnostic(line: 1, message: "m"))
        try expectEveryProperty(Person(name: "n"))
        try expectEveryProperty(WebLink(url: "u"))
        try expectEveryProperty(Soundbite(start: 0, duration: 1))
        try expectEveryProperty(Trailer(media: Enclosure(url: "u")))
        try expectEveryProperty(LiveItem(status: nil, start: nil, end: nil, item: Item()))
        try expectEveryProperty(AlternateEnclosure())
        try expectEveryProperty(AlternateEnclosure.Source(url: "u"))
        try expectEveryProperty(AlternateEnclosure.Integrity(type: "sri", value: "v"))
        try expectEveryProperty(Location(name: "n"))
        try expectEveryProperty(License(name: "n"))
        try expectEveryProperty(TextRecord(text: "t"))
        try expectEveryProperty(SocialInteract(network: "n"))
        try expectEveryProperty(Chat(server: "s"))
        try expectEveryProperty(RemoteItem())
        try expectEveryProperty(PodcastImage(url: "u"))
        try expectEveryProperty(ValueBlock(type: "t"))
        try expectEveryProperty(ValueRecipient())
        try expectEveryProperty(ValueTimeSplit(start: 0, duration: 1))
        try expectEveryProperty(PlatformBlock(isBlocked: true))
        try expectEveryProperty(UpdateRule())
    }

    @Test func everyPropertyOfTheFeedIsWritten() throws {
        let feed = Feed(format: .rss2)
        let data = Data(feed.inspectJSON())
        let members = Set(try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any]).keys)
        for child in Mirror(reflecting: feed).children {
            #expect(members.contains(memberName(child.label ?? "")), "Feed.\(child.label ?? "") is not in the output")
        }
        #expect(members.count == Mirror(reflecting: feed).children.count)
    }
}
