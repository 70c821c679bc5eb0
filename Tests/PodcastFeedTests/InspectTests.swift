import Foundation
import Testing

@testable import PodcastFeed

/// The completeness of `inspect --json`: each stored property of the model is in its output.
@Suite struct InspectTests {
    /// Returns the JSON members of a value of the model.
    private func object(_ value: some JSONObject) throws -> [String: Any] {
        var text: [UInt8] = []
        value.write(to: &text, level: 0)
        return try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
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

    @Test func everyPropertyOfTheModelIsWritten() throws {
        var tags = PodcastTags()
        tags.values = [ValueBlock(type: "lightning")]
        let values: [any JSONObject] = [
            Item(), tags, Enclosure(url: "u"), Transcript(url: "u"), Chapter(start: 0),
            Diagnostic(line: 1, message: "m"),
            Person(name: "n"), WebLink(url: "u"), Soundbite(start: 0, duration: 1), Trailer(media: Enclosure(url: "u")),
            LiveItem(status: nil, start: nil, end: nil, item: Item()), AlternateEnclosure(),
            AlternateEnclosure.Source(url: "u"), AlternateEnclosure.Integrity(type: "sri", value: "v"),
            Location(name: "n"), License(name: "n"), TextRecord(text: "t"), SocialInteract(network: "n"),
            Chat(server: "s"), RemoteItem(), PodcastImage(url: "u"), ValueBlock(type: "t"), ValueRecipient(),
            ValueTimeSplit(start: 0, duration: 1), PlatformBlock(isBlocked: true), UpdateRule(),
        ]
        for value in values {
            let members = Set(try object(value).keys)
            for child in Mirror(reflecting: value).children {
                let name = memberName(child.label ?? "")
                #expect(members.contains(name), "\(type(of: value)).\(child.label ?? "") is not in the output")
            }
            #expect(members.count == Mirror(reflecting: value).children.count)
        }
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
