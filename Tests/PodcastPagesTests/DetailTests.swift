import PodcastPages
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// Details from the elements of a feed's `podcast:` namespace, and notes, on a show's page.
@Suite struct DetailTests {
    private var show: Podcast {
        Podcast(id: 1, name: "Show", url: "https://user:secret@example.com/feed.xml", title: "Show")
    }

    private func page(_ details: ShowDetails? = nil, _ episodes: [EpisodeSummary] = []) -> String {
        var page = ShowPage(show, newest: nil, details: details)
        for episode in episodes { page.add(episode) }
        return String(decoding: page.finish(), as: UTF8.self)
    }

    @Test func aPageShowsTheNamespaceDetailsOfTheShow() {
        var details = ShowDetails()
        details.persons = [
            Person(name: "Nora <b>Quay", link: "https://example.com/nora"), Person(name: "Piet", role: "guest"),
        ]
        details.funding = [WebLink(url: "https://example.com/pay", title: "Keep the lamp lit")]
        details.trailers = [Trailer(media: Enclosure(url: "https://example.com/t.mp3"), title: "Winter", season: 2)]
        details.podroll = [
            RemoteItem(feedURL: "https://friends.example/feed", title: "Friends"), RemoteItem(feedGUID: "g"),
        ]
        details.locations = [Location(name: "Cork"), Location(name: "Porto")]
        details.license = License(name: "cc-by-4.0", url: "https://example.com/terms")
        let text = page(details)
        for part in [
            "With:", ">Nora &lt;b&gt;Quay</a> (host)", "Piet (guest)", "Support:", ">Keep the lamp lit</a>",
            "Trailers:", ">Winter</a> (season 2)", "Recommended:", "href=\"https://friends.example/feed\"",
            "Place: Cork, Porto", "License:", "href=\"https://example.com/terms\"",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(!page().contains("With:"))
    }

    @Test func aPageShowsTheNamespaceDetailsOfAnEpisode() {
        var details = EpisodeDetails()
        details.season = 2
        details.seasonName = "Winter"
        details.episodeDisplay = "Ch. 3"
        details.persons = [Person(name: "Piet", role: "guest")]
        details.soundbites = [
            Soundbite(start: 73, duration: 60, title: "How it burns"), Soundbite(start: .nan, duration: 1),
            Soundbite(start: 5, duration: 12.4),
        ]
        details.locations = [Location(name: "Roche's Point")]
        details.license = License(name: "own")
        details.discussions = [SocialInteract(network: "activitypub", url: "https://social.example/1")]
        details.links = [WebLink(url: "https://video.example/1", title: "On video")]
        let text = page(nil, [EpisodeSummary(id: 1, name: "1.mp3", title: "One", details: details)])
        for part in [
            "Season 2: Winter · Ch. 3", "Piet (guest)",
            "data-start=\"73.0\"><span>1:13</span><span dir=\"auto\">How it burns", "12 seconds", "Place: Roche",
            "License:", ">own<", "Discussion:", ">activitypub</a>", "Also at:", ">On video</a>",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(!text.contains("nan"))
    }

    @Test func otherEncodingsAreLinkedWithTypeLanguageAndSize() {
        let alternates = [
            AlternateSummary(
                name: "Small 32k en.opus", type: "audio/opus", language: "en",
                size: EpisodeSize(bytes: 70_000, source: .feed)),
            AlternateSummary(
                name: "Dub #2?.mp3", language: "de", size: EpisodeSize(bytes: 1_000, source: .estimate)),
            AlternateSummary(name: "<b>.flac", type: "\"><script>", size: EpisodeSize(bytes: 0, source: .unknown)),
            AlternateSummary(name: "Plain.ogg", size: EpisodeSize(bytes: 0, source: .unknown)),
        ]
        let text = page(
            nil, [EpisodeSummary(id: 1, name: "2026-01-01 One.mp3", title: "One", alternates: alternates)])
        for part in [
            "<span>Also as:</span>",
            "<a href=\".alternates/2026-01-01%20One/Small%2032k%20en.opus\">Small 32k en</a> (audio/opus, 68.4 KiB)",
            "<a href=\".alternates/2026-01-01%20One/Dub%20%232%3F.mp3\">Dub #2?</a> (de, ~1000 B)",
            "%3Cb%3E.flac\">&lt;b&gt;</a> (&quot;&gt;&lt;script&gt;)", "Plain.ogg\">Plain</a></span>",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(!page(nil, [EpisodeSummary(id: 1, name: "1.mp3", title: "One")]).contains("Also as"))
    }

    @Test func hostileDetailsAreEscapedAndLongListsCut() {
        var details = ShowDetails()
        details.persons = (0..<5_000).map { Person(name: "<script>\($0)</script>", link: "javascript:alert(\($0))") }
        details.funding = [WebLink(url: "data:text/html,x", title: "\"><img src=x>")]
        let text = page(details)
        #expect(!text.contains("<script>0") && !text.contains("javascript:alert") && !text.contains("data:text"))
        #expect(!text.contains("<img src=x") && text.contains("&lt;script&gt;19") && !text.contains("&lt;script&gt;20"))
    }

    @Test(
        arguments: [
            ("<a href=\"/about\">x</a>", "href=\"https://example.com/about\""),
            ("<a href='more.html'>x</a>", "href=\"https://example.com/notes/more.html\""),
            ("<a href=\"//other.example/x\">x</a>", "href=\"https://other.example/x\""),
            ("<a href=\"?p=2\">x</a>", "href=\"https://example.com/notes/1?p=2\""),
            ("<a href=\"https://a.example/\">x</a>", "href=\"https://a.example/\""),
            ("<a href=\"mailto:a@x.example\">x</a>", "href=\"mailto:a@x.example\""),
        ])
    func relativeLinksInNotesAreResolved(html: String, expected: String) {
        #expect(SanitizedHTML.text(of: html, base: "https://example.com/notes/1").contains(expected))
    }

    @Test func relativeLinksDoNotContainTheFeedsSecret() {
        let notes = EpisodeSummary(id: 1, name: "1.mp3", title: "One", sidecars: [.notes], notes: "<a href='/x'>x</a>")
        let text = page(nil, [notes])
        #expect(text.contains("href=\"https://example.com/x\"") && !text.contains("secret"))
    }
}
