import Foundation
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// The encoding that the library selects for an episode's file, and the addresses from which the file is fetched.
struct EpisodeMediaTests {
    private var (folder, library) = makeLibrary()

    private func item(
        _ guid: String? = "1", _ alternates: [AlternateEnclosure] = [], main: String = "https://x.example/1.mp3",
        type: String = "audio/mpeg"
    ) -> Item {
        var item = makeItem("One", guid: guid, url: main, duration: 600, length: 9_600_000, type: type)
        item.alternates = alternates
        return item
    }

    private func episode(_ podcast: ShowID) throws -> Episode {
        let episodes = try library.episodes(of: podcast)
        #expect(episodes.count == 1)
        return try #require(episodes.first)
    }

    private let opus = "https://x.example/1.opus"
    private let mirror = "https://m.example/1.mp3"

    // MARK: Sources

    @Test func sourcesOfTheSameEncodingPrecedeThoseOfTheSameType() throws {
        let sri = "sha256-" + Data(repeating: 1, count: 32).base64EncodedString()
        let result = try library.subscribe([
            item(
                "1",
                [
                    alternate("audio/opus", opus),
                    alternate("audio/mpeg", "https://x.example/1.mp3", mirror, hash: sri),
                    alternate("audio/mpeg", "https://low.example/1.mp3", bitRate: 64_000),
                ])
        ])
        let id = try #require(result.inserted.first)
        let hash = "sha256-" + String(repeating: "01", count: 32)
        let expected = [
            MediaSource(url: "https://x.example/1.mp3", hash: hash), MediaSource(url: mirror, hash: hash),
            MediaSource(url: "https://low.example/1.mp3"),
        ]
        #expect(try library.mediaSources(of: id) == expected)
        #expect(try library.source(of: id)?.sources == expected)
    }

    @Test func sourcesFollowTheFeedAlsoWithoutAnyOtherChange() throws {
        let show = try library.subscribe([item()]).podcast.id
        let id = try episode(show).id
        #expect(try library.mediaSources(of: id) == [MediaSource(url: "https://x.example/1.mp3")])
        #expect(try library.merge([item("1", [alternate("audio/mpeg", mirror)])], into: show).updated == [id])
        #expect(try library.mediaSources(of: id).map(\.url) == ["https://x.example/1.mp3", mirror])
        _ = try library.merge([item()], into: show)
        #expect(try library.mediaSources(of: id).map(\.url) == ["https://x.example/1.mp3"])
        #expect(try library.mediaSources(of: 99).isEmpty)
    }

    /// The main address of an episode is in one table, and its other sources are in another. A read outside a
    /// transaction could combine an old address with new sources.
    @Test func sourcesOfTwoStatesOfTheFeedAreNeverMixed() async throws {
        let other = "https://y.example/1.mp3"
        let show = try library.subscribe([item()]).podcast.id
        let id = try episode(show).id
        let reader = try Library.openForReading(at: folder.library)
        let states = [
            [item("1", [alternate("audio/mpeg", other, mirror)], main: other)], [item()],
        ]
        try await withThrowingTaskGroup { group in
            group.addTask { [library] in
                for round in 0..<400 { _ = try library.merge(states[round % 2], into: show) }
            }
            group.addTask {
                for _ in 0..<8_000 {
                    let addresses = [try reader.mediaSources(of: id), try reader.source(of: id)?.sources ?? []]
                    for found in addresses.map({ $0.map(\.url) }) {
                        #expect([["https://x.example/1.mp3"], [other, mirror]].contains(found))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Names and encodings

    @Test func anotherCodecNeverGetsAnExistingName() throws {
        let show = try library.subscribe([item("1", [alternate("audio/opus", opus)])]).podcast.id
        #expect(try episode(show).name.hasSuffix(".mp3"))
        // The feed swaps the two encodings: Opus is now the main one, and MP3 the alternate.
        _ = try library.merge(
            [item("1", [alternate("audio/mpeg", "https://x.example/1.mp3")], main: opus, type: "audio/opus")],
            into: show)
        let episode = try episode(show)
        #expect(episode.url == "https://x.example/1.mp3" && episode.name.hasSuffix(".mp3"))
        #expect(try library.mediaSources(of: episode.id).map(\.url) == ["https://x.example/1.mp3"])
    }

    @Test func anEncodingOfTheSameKindReplacesOneThatChangedItsKind() throws {
        let show = try library.subscribe([]).podcast.id
        try library.set(podcast: show, key: "prefer", value: "<=40k")
        _ = try library.merge([item("1", [alternate(nil, opus, bitRate: 32_000)])], into: show)
        #expect(try episode(show).url == opus)
        let other = "https://x.example/2.opus"
        let alternates = [
            alternate(nil, "https://x.example/1.m4a", bitRate: 32_000),
            alternate("audio/opus", other, bitRate: 64_000),
        ]
        _ = try library.merge([item("1", alternates)], into: show)
        #expect(try episode(show).url == other && episode(show).name.hasSuffix(".opus"))
    }

    @Test func newEpisodesHaveThePreferredEncodingAndKeepIt() throws {
        let alternates = [alternate("audio/opus", opus, "https://m.example/1.opus", bitRate: 32_000)]
        let show = try library.subscribe([item("old", main: "https://x.example/0.mp3")]).podcast.id
        try library.set(podcast: show, key: "prefer", value: "audio/opus")
        // The new item has no guid, so the address of its main encoding identifies it.
        _ = try library.merge([item("old", main: "https://x.example/0.mp3"), item(nil, alternates)], into: show)
        let episodes = try library.episodes(of: show)
        #expect(episodes.count == 2)
        let new = try #require(episodes.first { $0.guid == nil })
        #expect(new.url == opus && new.type == "audio/opus" && new.name.hasSuffix(".opus"))
        #expect(try library.mediaSources(of: new.id).map(\.url) == [opus, "https://m.example/1.opus"])
        // Neither a change of `prefer` nor a new token in the alternate's address adds an episode.
        try library.set(podcast: show, key: "prefer", value: nil)
        let later = [alternate("audio/opus", opus + "?t=2", bitRate: 32_000)]
        let result = try library.merge([item(nil, later)], into: show)
        #expect(result.inserted.isEmpty)
        #expect(try library.episode(id: new.id)?.url == opus + "?t=2")
        // The feed no longer lists the alternate.
        #expect(try library.merge([item(nil)], into: show).inserted.isEmpty)
        #expect(try library.episode(id: new.id)?.url == opus + "?t=2")
        #expect(try library.episode(id: new.id)?.name == new.name)
    }

    @Test(arguments: [
        ("audio/opus", 1), ("audio/ogg", 0), ("video", 2), ("video/mp4", 2), ("audio", 0), ("<=96k", 3), ("<=40k", 1),
        ("<= 200 kbit/s", 0), ("<=1k", 0), ("audio/x-m4a", 3), ("application/pdf", 0),
    ])
    func aPreferenceSelectsAMedium(text: String, place: Int) throws {
        let item = item(
            "1",
            [
                alternate("audio/opus", opus, bitRate: 32_000), alternate("video/mp4", "https://x.example/1.mp4"),
                alternate("audio/mp4", "https://x.example/1.m4a", bitRate: 96_000),
            ])
        let preference = try #require(MediaPreference(text))
        #expect(preference.choice(among: item.media, duration: item.duration) == place)
    }

    @Test(arguments: [
        "", "opus", "<=", "<=0", "<=-1k", "<=96x", ">96k", "image/png", "audio/", "/", "audio/mpeg; x=1", "audio/a b",
    ])
    func otherTextIsNoPreference(text: String) { #expect(MediaPreference(text) == nil) }

    // MARK: Streams

    @Test(arguments: [
        ("application/vnd.apple.mpegurl", "https://x.example/live"),
        ("application/x-mpegurl", "https://x.example/1.mp3"),
        ("audio/mpegurl", "https://x.example/a.m3u8?t=1"), (nil, "https://x.example/a.m3u8"),
    ])
    func aStreamIsASmallPlaylist(type: String?, url: String) throws {
        var item = makeItem("One\nTwo", guid: "1", url: url, duration: 61.4, length: 70_000_000, type: type)
        let show = try library.subscribe([item]).podcast.id
        var episode = try episode(show)
        #expect(episode.isStream && episode.name.hasSuffix(".m3u8"))
        #expect(String(decoding: episode.streamContent, as: UTF8.self) == "#EXTM3U\n#EXTINF:61,One Two\n\(url)\n")
        #expect(episode.size.bytes == Int64(episode.streamContent.count))
        #expect(try library.entry(id: episode.id)?.size == episode.size.bytes)
        #expect(try library.opening(of: episode.id)?.isStream == true)
        item.title = "Another"
        _ = try library.merge([item], into: show)
        episode = try self.episode(show)
        #expect(episode.size.bytes == Int64(episode.streamContent.count) && episode.title == "Another")
    }

    @Test(arguments: ["file:///etc/passwd", "https://x.example/a b", "https://x.example/a\n#EXT", "relative.m3u8", ""])
    func anInvalidAddressIsOmittedFromThePlaylist(url: String) {
        #expect(StreamFile.content(title: "T", duration: .infinity, url: url) == Array("#EXTM3U\n".utf8))
    }
}
