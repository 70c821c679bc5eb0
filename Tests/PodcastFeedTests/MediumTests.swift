import Foundation
import Testing

@testable import PodcastFeed

/// The encodings of an item, from enclosures, alternates and Media RSS.
@Suite struct MediumTests {
    private func item(_ elements: String) throws -> Item {
        try #require(try parse("<item><guid>1</guid>\(elements)</item>").items.first)
    }

    private func parse(_ items: String, limits: FeedLimits = .standard) throws -> Feed {
        try FeedParser.parse(
            Array(
                """
                <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" \
                xmlns:podcast="https://podcastindex.org/namespace/1.0"><channel>\(items)</channel></rss>
                """.utf8), limits: limits)
    }

    private func alternate(_ type: String, _ addresses: String..., attributes: String = "", inner: String = "")
        -> String
    {
        "<podcast:alternateEnclosure type=\"\(type)\" \(attributes)>"
            + addresses.map { "<podcast:source uri=\"\($0)\"/>" }.joined() + inner + "</podcast:alternateEnclosure>"
    }

    private let main = "<enclosure url=\"https://x.example/1.mp3\" length=\"900\" type=\"audio/mpeg\"/>"

    @Test func anItemWithOneEnclosureHasOneEncoding() throws {
        let media = try item(main).media
        #expect(media.map(\.addresses) == [["https://x.example/1.mp3"]])
        #expect(media.first?.length == 900 && media.first?.type == "audio/mpeg" && media.first?.hash == nil)
        #expect(try item("").media.isEmpty)
    }

    @Test func anAlternateThatDescribesTheEnclosureAddsItsSources() throws {
        for alternate in [
            alternate("audio/mpeg", "https://m.example/1.mp3", attributes: "default=\"true\" bitrate=\"64000\""),
            alternate(
                "audio/mpeg", "https://x.example/1.mp3", "https://m.example/1.mp3", attributes: "bitrate=\"64000\""),
        ] {
            let media = try item(main + alternate).media
            #expect(media.map(\.addresses) == [["https://x.example/1.mp3", "https://m.example/1.mp3"]])
            #expect(media.first?.bitRate == 64_000)
        }
    }

    @Test func twoDescriptionsOfOneFileAreMerged() throws {
        let hash = "<podcast:integrity type=\"sri\" value=\"sha256-\(base64(32, 1))\"/>"
        let media = try item(
            main
                + alternate(
                    "audio/opus", "https://x.example/1.opus", attributes: "bitrate=\"32000\" title=\"Small\"",
                    inner: hash)
                + alternate("audio/opus", "https://x.example/1.opus", attributes: "lang=\"en\" title=\"Again\"")
        ).media
        let opus = try #require(media.last)
        #expect(media.count == 2 && opus.bitRate == 32_000 && opus.title == "Again" && opus.language == "en")
        #expect(opus.hash == "sha256-\(hexadecimal(32, "01"))")
    }

    @Test func otherEncodingsFollowInOrder() throws {
        let media = try item(
            main + alternate("audio/opus", "https://x.example/1.opus", attributes: "bitrate=\"32000\" title=\"Small\"")
                + alternate("video/mp4", "ipfs://cid", "https://x.example/1.mp4", attributes: "height=\"720\"")
                + alternate("application/x-bittorrent", "https://x.example/1.torrent")
                + "<media:content url=\"https://y.example/1.mp3\" type=\"audio/mpeg\"/>"
                + "<media:content url=\"https://y.example/1.jpg\" type=\"image/jpeg\"/>"
                + "<media:content url=\"https://y.example/teaser.mp3\" type=\"audio/mpeg\" expression=\"sample\"/>"
        ).media
        #expect(
            media.map(\.addresses.first) == [
                "https://x.example/1.mp3", "https://x.example/1.opus", "https://x.example/1.mp4",
                "https://y.example/1.mp3",
            ])
        #expect(media[1].title == "Small" && media[2].height == 720)
        #expect(media[2].addresses == ["https://x.example/1.mp4"])
    }

    @Test func thousandsOfAlternatesAreBounded() throws {
        let many = (1...10_000).map { alternate("audio/opus", "https://x.example/\($0).opus") }.joined()
        let media = try item(main + many).media
        #expect(media.count == Medium.maxMedia)
        let sources = (1...10_000).map { "<podcast:source uri=\"https://m.example/\($0)\"/>" }.joined()
        let one = try item(main + alternate("audio/mpeg", "https://x.example/1.mp3", inner: sources)).media
        #expect(one.count == 1 && one.first?.addresses.count == Medium.maxAddresses)
    }

    // MARK: Integrity

    private func base64(_ count: Int, _ byte: UInt8) -> String {
        Data(repeating: byte, count: count).base64EncodedString()
    }
    private func hexadecimal(_ count: Int, _ byte: String) -> String { String(repeating: byte, count: count) }

    @Test func theStrongestHashIsUsed() throws {
        let value = "sha256-\(base64(32, 1)) sha384-\(base64(48, 0xAB)) sha384-\(base64(48, 2))?option md5-AAAA"
        let integrity = AlternateEnclosure.Integrity(type: "sri", value: value)
        #expect(integrity.digests == "sha384-\(hexadecimal(48, "ab")) sha384-\(hexadecimal(48, "02"))")
        #expect(
            AlternateEnclosure.Integrity(type: "sri", value: "SHA512-\(base64(64, 3))").digests
                == "sha512-\(hexadecimal(64, "03"))")
    }

    @Test(arguments: [
        ("sri", ""), ("sri", "md5-AAAA"), ("sri", "sha256"), ("sri", "sha256-AAAA"), ("sri", "sha256-!!"),
        ("sri", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="), ("pgp-signature", "-----BEGIN PGP SIGNATURE-----"),
        ("rot13", "x"),
    ])
    func otherIntegrityValuesHaveNoHash(type: String, value: String) {
        #expect(AlternateEnclosure.Integrity(type: type, value: value).digests == nil)
    }

    /// The contents of an alternate beyond the limit are not attached to the last alternate within the limit.
    @Test func anAlternateBeyondTheLimitIsDroppedWhole() throws {
        var limits = FeedLimits.standard
        limits.entries = 2
        let hash = "<podcast:integrity type=\"sri\" value=\"sha256-\(base64(32, 9))\"/>"
        let feed = try parse(
            "<item><guid>1</guid>" + main + alternate("audio/mpeg", "https://x.example/1.opus")
                + alternate("audio/mpeg", "https://x.example/2.opus")
                + "<podcast:alternateEnclosure type=\"audio/mpeg\">\(hash)</podcast:alternateEnclosure></item>",
            limits: limits)
        let alternates = try #require(feed.items.first?.alternates)
        #expect(alternates.count == 2 && alternates.allSatisfy { $0.integrity == nil })
    }

    @Test func anUnknownHashIsADiagnosticAndAKnownOnePrecedesASignature() throws {
        func integrity(_ type: String, _ value: String) -> String {
            "<podcast:integrity type=\"\(type)\" value=\"\(value)\"/>"
        }
        let feed = try parse(
            "<item><guid>1</guid>" + main
                + alternate(
                    "audio/mpeg", "https://x.example/1.mp3",
                    inner: integrity("pgp-signature", "abc") + integrity("sri", "sha256-\(base64(32, 7))"))
                + "</item>")
        #expect(feed.items.first?.media.first?.hash == "sha256-\(hexadecimal(32, "07"))")
        #expect(feed.diagnostics.map(\.message).filter { $0.contains("integrity") }.count == 1)
    }
}
