import Foundation
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary
@testable import PodcastPages

/// Hostile content for a page.
private let hostile = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)", "</title></style><b>",
    "&lt;script&gt;", "a\u{202E}b\u{0}c\nd\u{85}e", "--><!--", "\u{2028}", "javascript:alert(1)", "{{7*7}}",
]

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

func count(_ part: String, in page: String) -> Int { page.components(separatedBy: part).count - 1 }

/// Returns the page without podfs's own style and scripts, in which quotes and brackets are legitimate.
func markup(_ page: String) -> String {
    var page = page
    for own in [PageStyle.sheet, PageStyle.script] { page = page.replacing(own, with: "") }
    // The data for the script is never parsed as markup, because it has no "<".
    page = page.replacing(#/<script type="application/json" id="[a-z]+">[^<]*</script>/#, with: "")
    return page
}

/// Checks that no part of the hostile content became markup: every tag has a name that podfs itself uses in its pages.
private func expectHarmless(_ page: String, _ location: SourceLocation = #_sourceLocation) {
    let page = markup(page)
    let known: Set<String> = [
        "a", "audio", "body", "button", "code", "details", "div", "figcaption", "figure", "h1", "h2", "h3", "head",
        "header", "html", "img", "input", "label", "li", "main", "meta", "nav", "noscript", "ol", "option", "p", "path",
        "progress", "script", "section", "select", "span", "strong", "style", "summary", "svg", "time", "title",
        "track",
        "ul", "video", "!DOCTYPE",
    ]
    // A set, since most tags of a long page are equal.
    for tag in Set(page.split(separator: "<").dropFirst(page.hasPrefix("<") ? 0 : 1)) {
        let name = tag.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber || $0 == "!" }
        #expect(known.contains(String(name)), "<\(tag.prefix(60))", sourceLocation: location)
        let inside = tag.prefix { $0 != ">" }
        // The values of attributes are removed first, since they may contain anything.
        let names = inside.replacing(/"[^"]*"/, with: "")
        #expect(!names.contains("onerror") && !names.contains("onmouse"), "\(inside)", sourceLocation: location)
        #expect(count("\"", in: String(inside)) % 2 == 0, "\(inside)", sourceLocation: location)
    }
    let odd = page.unicodeScalars.first { scalar in
        let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
        return scalar != "\n" && isControl || (0x202A...0x202E).contains(scalar.value)
    }
    #expect(odd == nil, sourceLocation: location)
    #expect(!page.contains(#/(href|src)="[^"]*javascript:/#), sourceLocation: location)
}

struct PageStyleTests {
    @Test func thePolicyAllowsOnlyTheOwnStyleAndScript() {
        for own in [PageStyle.sheet, PageStyle.script] { #expect(!own.contains("</")) }
        let policy = PageStyle.policy
        #expect(policy.contains("style-src '\(PageStyle.sheetHash)'"))
        #expect(policy.contains("script-src '\(PageStyle.scriptHash)'"))
        #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("unsafe") && !policy.contains("\""))
        #expect(!policy.contains("connect-src") && !policy.contains("http") && !policy.contains("*"))
    }

    /// Contrast of the colors by WCAG 2.2, 1.4.3 (4.5:1 for text) and 1.4.11 (3:1 for edges of fields).
    @Test func textHasContrastInLightAndDark() throws {
        func colours(_ part: Substring) -> [String: String] {
            Dictionary(
                part.matches(of: #/--([a-z]+):(#[0-9a-f]{6})/#).map { (String($0.1), String($0.2)) },
                uniquingKeysWith: { $1 })
        }
        func luminance(_ colour: String) throws -> Double {
            let value = try #require(UInt32(colour.dropFirst(), radix: 16))
            let parts = [16, 8, 0].map { shift -> Double in
                let part = Double(value >> UInt32(shift) & 255) / 255
                return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
            }
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        }
        func contrast(_ one: String, _ other: String) throws -> Double {
            let (a, b) = (try luminance(one), try luminance(other))
            return (max(a, b) + 0.05) / (min(a, b) + 0.05)
        }
        let dark = try #require(PageStyle.sheet.range(of: "@media(prefers-color-scheme:dark)"))
        let end = try #require(PageStyle.sheet[dark.upperBound...].range(of: "}}"))
        for scheme in [
            colours(PageStyle.sheet[..<dark.lowerBound]), colours(PageStyle.sheet[dark.upperBound..<end.lowerBound]),
        ] {
            #expect(scheme.count == 8)
            for ground in ["ground", "fill"] {
                for ink in ["ink", "dim", "accent", "bad"] {
                    let found = try contrast(scheme[ink] ?? "", scheme[ground] ?? "")
                    #expect(found >= 4.5, "\(ink) on \(ground): \(found)")
                }
            }
            #expect(try contrast(scheme["edge"] ?? "", scheme["ground"] ?? "") >= 3)
        }
        let tints = PageStyle.sheet.matches(of: #/\.t[0-9]+\{background:(#[0-9a-f]{6})\}/#).map { String($0.1) }
        #expect(tints.count == 12)
        for tint in tints { #expect(try contrast(tint, "#ffffff") >= 4.5, "\(tint)") }
    }

    @Test(arguments: [
        ("a b.mp3", "a%20b.mp3"), ("#1? 100%.mp3", "%231%3F%20100%25.mp3"), ("a:b\\c", "a%3Ab%5Cc"),
        ("ü\"'<>&", "%C3%BC%22%27%3C%3E%26"), ("A-z_0.~", "A-z_0.~"),
    ]) func namesAreEncodedInAddresses(name: String, encoded: String) {
        let page: Markup = "\(path: name, "x")"
        #expect(text(page.bytes) == encoded + "/x" && encoded.removingPercentEncoding == name)
    }

    @Test(arguments: [(0, "0:00"), (7.9, "0:07"), (2_530, "42:10"), (3_912, "1:05:12"), (-1, "-"), (.nan, "-")])
    func positionsAreShownAsClockTimes(seconds: Double, told: String) { #expect(TimeText.clock(seconds) == told) }

    @Test func directionMarksStayAndOverridesAreRemoved() {
        let page: Markup = "<\("a\u{200F}b\u{202E}c\u{2066}d\te<")>"
        #expect(text(page.bytes) == "<a\u{200F}b c d e&lt;>")
    }
}

struct ShowPageTests {
    private var show: Podcast {
        Podcast(id: 1, name: "Show", url: "https://example.com/feed", title: "The “Show”", created: 0, changed: 0)
    }

    private func page(_ show: Podcast, _ episodes: [EpisodeSummary]) -> String {
        var page = ShowPage(show, newest: 1_767_340_800)
        for episode in episodes { page.add(episode) }
        return text(page.finish())
    }

    @Test func aPageShowsAllKnownFacts() {
        var show = show
        show.description = "About <b>it</b><script>x</script>"
        show.author = "A & B"
        show.link = "https://example.com/"
        show.image = "https://example.com/a.png"
        show.cover = "jpg"
        show.language = "de"
        show.episodes = 2
        show.cached = 1
        var details = EpisodeDetails()
        (details.season, details.seasonName) = (2, "Rivers")
        let first = EpisodeSummary(
            id: 2, name: "2026-01-02 #2.mp3", title: "#2", published: 1_767_340_800, duration: 3_912,
            link: "https://example.com/2", size: 40_000_000, sizeSource: .feed, complete: true,
            position: 750, season: 2, sidecars: [.notes, .vtt, .art], notes: "<p>Notes <i>here</i></p>",
            chapters: [Chapter(start: 61.5, title: "One")],
            details: details)
        let second = EpisodeSummary(
            id: 1, name: "1.mp4", title: "1", size: 1_000, sizeSource: .estimate, played: true, season: 1,
            sidecars: [.notes, .chapters, .srt])
        let text = page(show, [first, second])
        for part in [
            "<title>The “Show”</title>", "src=\"cover.jpg\"", "<h1 dir=\"auto\" lang=\"de\">The “Show”</h1>",
            "A &amp; B</p>", "About <b>it</b>", "<span>2 episodes</span><span>1 downloaded</span>",
            "<a href=\"https://example.com/\" rel=\"noopener noreferrer nofollow\">Website</a>",
            "<time datetime=\"2026-01-02\">2 Jan 2026</time></span><span>1:05:12</span><span>38.1 MiB</span>",
            "<audio controls preload=\"none\" src=\"2026-01-02%20%232.mp3\" data-at=\"750\" aria-label=\"#2\">"
                + "<track kind=\"captions\" label=\"Transcript\" src=\"2026-01-02%20%232.vtt\"></audio>"
                + "<span class=\"length\">1:05:12</span>",
            "<progress max=\"100\" value=\"19\" aria-label=\"12:30 of 1:05:12 played\"",
            "<li id=\"e1\" class=\"played\">",
            "<img class=\"own\" src=\"2026-01-02%20%232.jpg\" alt=\"\"", "data-seconds=\"3912\"><p>Notes",
            "<h2>Season 2: Rivers</h2>", "<h2>Season 1</h2>", "value=\"https://example.com/feed\"",
            "<a href=\"playlist.m3u8\">Playlist</a>",
            "<h3 dir=\"auto\">1 <span class=\"mark\" aria-hidden=\"true\">✓</span>",
            "data-start=\"61.5\"><span>1:01</span><span dir=\"auto\">One</span>", "<p>Notes <i>here</i></p>",
            "<a href=\"2026-01-02%20%232.vtt\">Transcript</a>", "<a href=\"2026-01-02%20%232.mp3\">File</a>",
            "<a href=\"https://example.com/2\" rel=\"noopener noreferrer nofollow\">Web page</a>",
            "<video controls preload=\"none\" src=\"1.mp4\" aria-label=\"1\">"
                + "<track kind=\"captions\" label=\"Transcript\" src=\"1.vtt\"></video>", "~1000 B",
            "<a href=\".notes/1.html\">Notes</a>",
            "<a href=\".chapters/1.json\">Chapters</a>", "<a href=\"1.vtt\">Transcript</a>",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(count("class=\"cached\"", in: text) == 1 && count("class=\"remote\"", in: text) == 1)
        #expect(count("<script", in: text) == 1 && count("<details open>", in: text) == 1)
    }

    @Test(arguments: hostile) func nothingBecomesMarkup(_ nasty: String) {
        var show = show
        show.title = nasty
        show.author = nasty
        show.link = nasty
        show.language = nasty
        show.state = Podcast.failed
        show.error = nasty
        show.image = nasty
        show.cover = nasty
        let name = FileName.stem(nasty) + ".mp3"
        let episode = EpisodeSummary(
            id: 1, name: name, title: nasty, published: .max, duration: .infinity, type: nasty, link: nasty,
            size: .max, sizeSource: .feed, sidecars: [.notes, .chapters, .vtt],
            chapters: [Chapter(start: 0, title: nasty), Chapter(start: .nan), Chapter(start: -1)])
        expectHarmless(page(show, [episode]))
        var shelf = Shelf([show], newest: [1: .min])
        let heard = EpisodeSummary(
            id: 1, name: name, title: nasty, published: .max, duration: .infinity, type: nasty, position: .nan,
            podcast: 1)
        (shelf.inProgress, shelf.latest) = ([heard], [heard])
        shelf.titles = [(id: 1, show: 1, title: nasty)]
        shelf.views = [nasty]
        expectHarmless(text(shelf.page))
        expectHarmless(text(ViewPage.bytes(folder: nasty, [heard], shows: [1: show])))
        expectHarmless(page(show, Array(repeating: episode, count: ShowPage.rowLimit + 2)))
        let task = StatusReport.Task(
            TaskInfo(
                id: 1, kind: .download, path: "\(nasty)/\(name)", episode: nil, state: .running, received: -5,
                expected: .max,
                rate: 1e300,
                error: nasty, started: 0), now: 0)
        expectHarmless(text(StatusPage.bytes(StatusReport(tasks: [task]), rates: [1, .infinity, 2])))
        let ended = [StatusPage.Ended(path: nasty, time: .min + 9, size: .max, error: nasty)]
        expectHarmless(text(StatusPage.bytes(StatusReport(tasks: []), rates: [], ended: ended, now: 5)))
    }

    @Test(arguments: [
        "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", " java\nscript:alert(1)",
        "file:///etc/passwd",
        "vbscript:x", "//example.com", "",
    ]) func onlyWebAddressesAreLinks(_ address: String) {
        var show = show
        show.link = address
        let text = page(show, [EpisodeSummary(id: 1, name: "1.mp3", title: "1", link: address)])
        #expect(!text.contains("Website</a>") && !text.contains("Web page</a>"))
    }

    @Test func secretsOfAddressesAreNotShown() {
        var show = show
        show.link = "https://me:hush@example.com/?key=hush"
        show.hasCredentials = true
        let episode = EpisodeSummary(id: 1, name: "1.mp3", title: "1", link: "https://example.com/1?token=hush")
        let text = page(show, [episode])
        #expect(!text.contains("hush") && text.contains("https://example.com/1\""))
    }

    @Test func hugeNotesAndDescriptionsAreCut() {
        var show = show
        show.description = String(repeating: "<b>x</b><script>", count: 400_000)
        let text = page(show, [EpisodeSummary(id: 1, name: "1.mp3", title: "1", notes: "<p>" + hostile.joined())])
        #expect(text.utf8.count < 100_000)
        #expect(!markup(text).replacing("<script></script>", with: "").contains("<script"))
    }

    @Test func otherFilesHaveNoPlayer() {
        let book = EpisodeSummary(id: 1, name: "1.pdf", title: "1", type: "application/pdf")
        let text = page(show, [book])
        #expect(!markup(text).contains("<audio") && text.contains("<a href=\"1.pdf\">File</a>"))
    }

    @Test func aShowWithoutEpisodesSaysSo() { #expect(page(show, []).contains("No episodes.")) }

    @Test func aPageOfThousandsOfEpisodesIsBounded() {
        var show = show
        show.episodes = 10_000
        let text = page(
            show,
            (1...10_000).map {
                EpisodeSummary(
                    id: EpisodeID(Int64($0)), name: "2026-01-01 Episode \($0).mp3", title: "Episode \($0)",
                    published: 1_767_340_800,
                    duration: 3_000, size: 50_000_000, sizeSource: .feed, sidecars: .notes)
            })
        #expect(count("<summary>", in: text) == ShowPage.rowLimit)
        // The newest rows have players; the others get theirs when they are opened. Episodes beyond
        // `rowLimit` are only in the JSON data, from which the script creates rows.
        #expect(count("<audio controls preload=\"none\"", in: text) == ShowPage.playerLimit)
        #expect(count("<a data-player=\"audio\"", in: text) == ShowPage.rowLimit - ShowPage.playerLimit)
        #expect(text.contains("[10000,\"2026-01-01 Episode 10000.mp3\",") && text.contains("class=\"filter\""))
        #expect(text.utf8.count < 2_000_000, "\(text.utf8.count)")
    }
}

struct ShelfPageTests {
    @Test func theShelfListsAllShowsInOrder() {
        let shows = (1...3).map {
            Podcast(id: ShowID(Int64($0)), name: "S\($0)", url: "u\($0)", title: "T\($0)", created: 0, changed: 0)
        }
        let text = text(Shelf(shows, newest: [2: 1_767_340_800]).page)
        #expect(count("<li data-newest=", in: text) == 3 && count("<time", in: text) == 1)
        for part in [
            "href=\".status.html\"", "<span class=\"art tint t", "<a href=\"S1/index.html\">",
            "<span>3 shows</span>",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        let titles = text.matches(of: #/>(T\d)</h3>/#).map { String($0.1) }
        #expect(titles == ["T1", "T2", "T3"])
        // Without art no image is loaded.
        #expect(!markup(text).contains("<img"))
    }

    @Test func episodesInProgressComeFirst() {
        let show = Podcast(id: 1, name: "S", url: "u", title: "T", created: 0, changed: 0, episodes: 3)
        var shelf = Shelf([show], newest: [:])
        shelf.unplayed = [1: 2]
        shelf.inProgress = [
            EpisodeSummary(id: 7, name: "a.mp3", title: "Half", duration: 3_600, position: 1_800, podcast: 1)
        ]
        shelf.latest = [
            EpisodeSummary(id: 8, name: "b.mp3", title: "New", published: 1_767_340_800, played: true, podcast: 1)
        ]
        shelf.titles = [(id: 8, show: 1, title: "</script>New")]
        let text = text(shelf.page)
        for part in [
            "<h2>Continue listening</h2>", "<a href=\"S/index.html#e7\">", "<span>30:00 left</span>",
            "aria-label=\"30:00 of 1:00:00 played\"", "<h2>Newest episodes</h2>",
            "<span>2 of 3 unplayed</span>",
            "data-unplayed=\"2\"", "\\u003c",
        ] {
            #expect(text.contains(part), "\(part)")
        }
    }

    @Test func aViewHasAPageInItsFolder() {
        var show = Podcast(id: 1, name: "A & B", url: "u", title: "T", created: 0, changed: 0, episodes: 1)
        var episode = EpisodeSummary(
            id: 7, name: "a #1.mp3", title: "Half", duration: 3_600, position: 1_800, podcast: 1)
        show.image = "https://a.example/i"
        show.cover = "png"
        let page = text(ViewPage.bytes(folder: "To <hear>", [episode], shows: [1: show]))
        for part in [
            "<h1 dir=\"auto\">To &lt;hear&gt;</h1>", "href=\"../A%20%26%20B/a%20%231.mp3\"",
            "href=\"../A%20%26%20B/index.html#e7\"", "<img src=\"../A%20%26%20B/cover.png\"",
            "href=\"../index.html\">Shows</a>",
            "aria-label=\"30:00 of 1:00:00 played\"", "data-at=\"1800\"", "<span>30:00 left</span>",
            "<span class=\"from\" dir=\"auto\">T</span>",
        ] {
            #expect(page.contains(part), "\(part)")
        }
        // A played episode starts at its beginning, wherever playback stopped.
        episode.played = true
        #expect(!text(ViewPage.bytes(folder: "x", [episode], shows: [1: show])).contains("data-at"))
        #expect(text(ViewPage.bytes(folder: "x", [], shows: [:])).contains("No episode matches this view."))
    }

    @Test func thePagesLinkEachOtherAndAllViews() {
        let show = Podcast(id: 1, name: "S", url: "u", title: "S", created: 0, changed: 0)
        let views = ["Latest", "To <hear>"]
        var shelf = Shelf([show], newest: [:])
        shelf.views = views
        let pages = [
            ("", "index.html", shelf.page),
            ("../", "To%20%3Chear%3E/index.html", ViewPage.bytes(folder: "To <hear>", [], shows: [:], views: views)),
            ("../", "", ShowPage(show, newest: nil, views: views).finish()),
            ("", ".status.html", StatusPage.bytes(StatusReport(tasks: []), rates: [], views: views)),
        ]
        for (root, current, bytes) in pages {
            let links = [
                ("index.html", "Shows"), ("Latest/index.html", "Latest"),
                ("To%20%3Chear%3E/index.html", "To &lt;hear&gt;"), (".status.html", "Transfers"),
            ].map { path, title in
                "<a dir=\"auto\" href=\"\(root)\(path)\"\(path == current ? " aria-current=\"page\"" : "")>\(title)</a>"
            }
            #expect(text(bytes).contains("<nav aria-label=\"Pages\">\(links.joined())</nav>"), "\(current)")
        }
    }

    /// A browser reads the images of a page one after another, so that all would wait for the server of a missing one.
    @Test func aPageRefersOnlyToCachedCovers() {
        var show = Podcast(id: 1, name: "S", url: "u", title: "Title", created: 0, changed: 0)
        show.image = "https://a.example/i"
        var episode = EpisodeSummary(
            id: 7, name: "a.mp3", title: "Half", duration: 3_600, position: 1_800, podcast: 1)
        episode.published = 1
        func pages() -> [String] {
            var shelf = Shelf([show], newest: [:])
            shelf.latest = [episode]
            return [
                shelf.page, ViewPage.bytes(folder: "x", [episode], shows: [1: show]),
                ShowPage(show, newest: nil).finish(),
            ].map(text)
        }
        for text in pages() {
            #expect(!text.contains("<img") && !text.contains(" data-due>") && text.contains(">T</span>"))
        }
        // The script reloads a page until a cover that is about to be fetched is there.
        show.coverDue = 0
        for text in pages() { #expect(!text.contains("<img") && text.contains(" data-due>")) }
        show.coverDue = .max
        for text in pages() { #expect(!text.contains("<img") && !text.contains(" data-due>")) }
        (show.cover, show.coverDue) = ("webp", nil)
        for text in pages() { #expect(text.contains("cover.webp\"") && !text.contains(" data-due>")) }
        // The former cover stays until the one of a new address is there.
        show.coverDue = 0
        for text in pages() { #expect(text.contains("cover.webp\"") && !text.contains(" data-due>")) }
    }

    @Test(arguments: [
        ("https://a.example/x/Logo.PNG?size=3000", "cover.png"), ("https://a.example/a.jpeg#x", "cover.jpg"),
        ("https://a.example/image?f=a.png", "cover.jpg"), ("https://a.example/", "cover.jpg"),
        ("https://a.example/a.svg", "cover.jpg"),
    ]) func beforeTheFirstFetchTheAddressNamesTheCover(address: String, name: String) {
        var show = Podcast(id: 1, name: "S", url: "u", title: "Title", created: 0, changed: 0)
        #expect(show.coverName == nil)
        show.image = address
        #expect(show.coverName == name)
        show.cover = "webp"
        #expect(show.coverName == "cover.webp")
    }

    @Test func aFeedThatFailsSaysSo() {
        var show = Podcast(id: 1, name: "S", url: "u", title: "T", created: 0, changed: 0)
        show.state = Podcast.failed
        show.error = "no route"
        #expect(text(Shelf([show], newest: [:]).page).contains("could not be fetched: no route"))
        show.state = Podcast.gone
        #expect(text(Shelf([show], newest: [:]).page).contains("has ended"))
    }
}
