import Foundation
import PodcastFeed
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastPages

struct PlaylistTests {
    private let tracks = [
        Track(name: "2026-01-02 Second.mp3", title: "Second\nline", duration: 61.5),
        Track(name: "#1: First? 100%.mp3", title: "First"),
    ]

    @Test func theNewestComesFirstUnlessTheShowIsSerial() {
        let playlist = Playlist.bytes(title: "Show", tracks: tracks, isSerial: false)
        #expect(
            String(decoding: playlist, as: UTF8.self) == """
                #EXTM3U
                #PLAYLIST:Show
                #EXTINF:62,Second\u{FFFD}line
                2026-01-02 Second.mp3
                #EXTINF:-1,First
                ./%231: First%3F 100%25.mp3

                """)
        let serial = String(decoding: Playlist.bytes(title: "Show", tracks: tracks, isSerial: true), as: UTF8.self)
        #expect(serial.split(separator: "\n").filter { $0.hasSuffix(".mp3") }.first == "./%231: First%3F 100%25.mp3")
    }

    @Test(arguments: [
        ("2026-01-01 a – [b] & c.mp3", nil), ("50% off.mp3", nil), ("100%.mp3", nil), ("%", nil), ("%zz.mp3", nil),
        ("#1.mp3", "%231.mp3"), ("what?.mp3", "what%3F.mp3"), ("a%41b.mp3", "a%2541b.mp3"),
        ("50% off #1.mp3", "50%25 off %231.mp3"), ("a%3Fb.mp3", "a%253Fb.mp3"), ("%25%23.mp3", "%2525%2523.mp3"),
        ("#\u{FE0F}\u{20E3} one?\u{301}.mp3", "%23\u{FE0F}\u{20E3} one%3F\u{301}.mp3"),
    ]) func namesWithURLDelimitersAreEncoded(name: String, encoded: String?) {
        let playlist = Playlist.bytes(title: "", tracks: [Track(name: name, title: "")], isSerial: false)
        let lines = String(decoding: playlist, as: UTF8.self).split(separator: "\n")
        #expect(lines.last.map(String.init) == encoded ?? name)
        if let encoded { #expect(Playlist.fileName(ofEncodedForVLC: encoded) == name) }
        #expect(Playlist.fileName(ofEncodedForVLC: name) == nil || name.contains("%3F") || name.contains("%25"))
    }

    @Test func aShowWithoutEpisodesHasAnEmptyPlaylist() {
        #expect(Playlist.bytes(title: "a\r\n#b", tracks: [], isSerial: false).split(separator: 10).count == 2)
    }
}

struct NotesPageTests {
    private let show = Podcast(id: 1, name: "Show", url: "https://a.example/f", title: "A <Show>", language: "de")

    @Test func thePageIsACompleteDocumentWithoutScripts() throws {
        var episode = Episode(id: 1, podcast: 1, name: "E.mp3", title: "<E> & more", url: "https://a.example/1.mp3")
        episode.published = 1_795_168_800
        episode.duration = 3_900
        episode.link = "javascript:alert(1)"
        func page(_ notes: String, linksBack: Bool = true) -> String {
            String(
                decoding: NotesPage.bytes(of: episode, notes: notes, show: show, linksBack: linksBack), as: UTF8.self)
        }
        let notes = "<p onclick=x>Hello</p><script>alert(1)</script><h1>One</h1><h5>Two</h5>"
        let text = page(notes)
        #expect(text.hasPrefix("<!DOCTYPE html>\n<html lang=\"de\">\n<head>\n<meta charset=\"utf-8\">\n"))
        #expect(text.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"))
        #expect(text.contains("<title>&lt;E&gt; &amp; more</title>"))
        #expect(
            text.contains(
                "<a href=\"../index.html#e1\" dir=\"auto\">A &lt;Show&gt;</a></nav>\n<main>\n<h1 dir=\"auto\">"))
        #expect(text.contains("20 Nov 2026</time></span><span>1h05m</span></p>"))
        #expect(text.contains("dir=\"auto\">\n<p>Hello</p><h2>One</h2><h2>Two</h2>\n</div>\n</main>\n"))
        #expect(!text.contains("alert(1)") && !text.contains("onclick"))
        let archived = page(notes, linksBack: false)
        #expect(archived.contains("<span dir=\"auto\">A &lt;Show&gt;</span></nav>"))
        #expect(!archived.contains("../index.html"))
        episode.link = "https://user:secret@a.example/e?token=1"
        let linked = page("a")
        #expect(linked.contains("<a href=\"https://a.example/e\"") && !linked.contains("secret"))
    }
}

struct FeedHealthTests {
    @Test func feedHealthHasNoSecret() throws {
        var show = Podcast(id: 1, name: "Show", url: "https://user:secret@a.example/feed", title: "Show")
        show.httpStatus = 503
        show.state = Podcast.failed
        show.error = "the server answered 503"
        let alone = try #require(
            try JSONSerialization.jsonObject(with: Data(FeedHealth.bytes(of: show))) as? [String: Any])
        let facts = try #require(alone["health"] as? [String: Any])
        #expect(facts["status"] as? Int == 503 && facts["state"] as? String == "failed")
        #expect(facts["url"] as? String == "https://a.example/feed")
    }
}

struct TroubleNoticeTests {
    @Test func theNoticeSaysWhatIsWrongAndWhatWouldBeLost() {
        let unsaved = UnsavedEpisodes(count: 1_234, bytes: 5 << 30)
        #expect(
            TroubleNotice(trouble: .gone, unsaved: unsaved, show: "A Show").text
                == "The feed is gone from its server; 1,234 episodes are only on the server (about 5.0 GiB): "
                + "podfs set 'A Show' archive=true and podfs download 'A Show' save what is left.")
        #expect(
            TroubleNotice(trouble: .certificate, unsaved: UnsavedEpisodes(count: 1), show: "Show").text
                == "The certificate of the feed's server is not valid; 1 episode is only on the server: "
                + "podfs set Show archive=true and podfs download Show save what is left.")
        #expect(
            TroubleNotice(trouble: .empty, unsaved: UnsavedEpisodes(), show: "Show").text
                == "The feed has listed no episode for a month; all its episodes are on this computer.")
        #expect(
            TroubleNotice(trouble: .unauthorised, unsaved: unsaved, show: "Show", isArchived: true).text
                == "The server does not let podfs read the feed; 1,234 episodes are only on the server (about 5.0 GiB): "
                + "podfs download Show saves what is left.")
    }
}

struct SubscriptionsPageTests {
    @Test func theListIsOPMLWithoutSecrets() throws {
        let document = SubscriptionsPage.document([
            Subscription(
                podcast: 1, name: "A", url: "https://a.example/f?x=1&y=2", title: "A & B", link: "https://a.example/"),
            Subscription(
                podcast: 2, name: "Mine", url: "https://b.example/f?token=hush", title: "Private",
                link: "https://me:hush@b.example/", hasCredentials: true),
            Subscription(podcast: 3, name: "C", url: "https://u:hush@c.example/f?token=hush", title: "C"),
        ])
        let text = String(decoding: document, as: UTF8.self)
        #expect(!text.contains("hush"))
        #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">"))
        let list = try OPML.parse(document)
        #expect(list.title == "podfs subscriptions" && list.diagnostics.isEmpty)
        #expect(
            list.subscriptions.map(\.url)
                == ["https://a.example/f?x=1&y=2", "https://b.example/f", "https://c.example/f"])
        #expect(list.subscriptions.map(\.title) == ["A & B", "Private", "C"])
        #expect(list.subscriptions.map(\.text) == ["A", "Mine", "C"])
        #expect(list.subscriptions.map(\.link) == ["https://a.example/", "https://b.example/", nil])
    }

    @Test func anEmptyListIsAValidDocument() throws {
        #expect(try OPML.parse(SubscriptionsPage.document([])).subscriptions.isEmpty)
    }
}

struct ForeignChapterTests {
    private func chapters(_ text: String) -> [Chapter] { ChapterList.chapters(of: Array(text.utf8), limit: 3) }

    @Test func chaptersOfAFileAreReadInOrder() {
        #expect(
            chapters(
                """
                {"version":"1.2.0","chapters":[{"startTime":5,"title":"b"},{"startTime":"1.5","title":"a","img":"x"},
                {"startTime":2,"toc":false},{"title":"none"},{"startTime":-1},{"startTime":9},{"startTime":10}]}
                """) == [Chapter(start: 1.5, title: "a"), Chapter(start: 5, title: "b"), Chapter(start: 9)])
    }

    @Test func elementsThatAreNoObjectsAreOmitted() {
        let read = chapters(#"{"chapters":[{"startTime":1,"title":"a"},null,7,"x",[],{"startTime":2,"title":"b"}]}"#)
        #expect(read == [Chapter(start: 1, title: "a"), Chapter(start: 2, title: "b")])
    }

    /// Each chapter ends where the next one begins, whatever end the file states.
    @Test func chaptersThatOverlapKeepTheirStarts() {
        let read = chapters(
            """
            {"version":"1.2.0","chapters":[{"startTime":0,"endTime":500,"title":"a"},{"startTime":60,"endTime":30,"title":"b"},
            {"startTime":60,"endTime":90,"title":"c"}]}
            """)
        #expect(read == [Chapter(start: 0, title: "a"), Chapter(start: 60, title: "b")])
        let written = ChapterList.bytes(
            [Chapter(start: 400, title: "late"), Chapter(start: 60, title: "b"), Chapter(start: 0, title: "a")]
                + [Chapter(start: 60, title: "c")], title: "T", duration: 300)
        #expect(ChapterList.chapters(of: written, limit: 9) == read)
    }

    @Test(arguments: ["", "<html>", "[]", "{}", "{\"chapters\":7}", "{\"chapters\":[7]}", "\u{FEFF}{"])
    func otherFilesHaveNoChapters(_ text: String) { #expect(chapters(text).isEmpty) }

    @Test func theEncodingOfAFileIsDetected() {
        let file = Array("{\"chapters\":[{\"startTime\":1,\"title\":\"Caf".utf8) + [0xE9] + Array("\"}]}".utf8)
        #expect(ChapterList.chapters(of: file, limit: 1).map(\.title) == ["Café"])
        let wide = Array("{\"chapters\":[{\"startTime\":1,\"title\":\"é\"}]}".utf16).flatMap { [UInt8($0 & 0xFF), 0] }
        #expect(ChapterList.chapters(of: wide, limit: 1).map(\.title) == ["é"])
    }
}
