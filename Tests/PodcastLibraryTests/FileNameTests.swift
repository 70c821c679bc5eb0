import Platform
import PodcastFeed
import Testing

@testable import PodcastLibrary

struct FileNameTests {
    static let hostile = [
        "", " ", ".", "..", "...", "....hidden", " . . ", "/", "../../etc/passwd", "a/b/c", "a\0b", "tab\tand\nline",
        "\u{202E}gpj.exe", "\u{2066}isolated\u{2069}", "line\u{2028}separator\u{2029}", "\u{85}next", "\u{FEFF}bom",
        "  spaces  ", "\u{A0}no-break\u{A0}", "e\u{301}", "حلقة ١٢: مرحبا", "שלום/עולם", ".\u{301}accent on a dot",
        String(repeating: "x", count: 4096), String(repeating: "é", count: 4096),
        String(repeating: "👩‍👩‍👧‍👦", count: 100), "a" + String(repeating: "\u{301}", count: 500),
        String(repeating: "/", count: 4096), String(repeating: ".", count: 4096), String(repeating: "\n", count: 4096),
        "\u{7F}", "\u{1B}[31mred", "-rf", "~", "*?<>|:\"\\", String(repeating: "a ", count: 2000),
    ]

    @Test(arguments: hostile)
    func everyTitleBecomesAValidName(_ title: String) {
        let stem = FileName.stem(title)
        #expect(!stem.isEmpty)
        #expect(stem.utf8.count <= 235)
        #expect(stem != "." && stem != "..")
        #expect(stem.utf8.first != UInt8(ascii: "."))
        #expect(!stem.utf8.contains(UInt8(ascii: "/")))
        #expect(!stem.unicodeScalars.contains { FileName.isForbidden($0) })
        #expect(stem.first?.isWhitespace == false && stem.last?.isWhitespace == false)
        #expect(Array(stem.unicodeScalars) == Array(FileName.normalized(stem).unicodeScalars))
        #expect(FileName.stem(stem) == stem, "the stem of a stem is the same")
        #expect(FileName.objection(to: stem) == nil)
    }

    @Test(arguments: [
        ("", "Untitled"), ("..", "Untitled"), ("\u{202E}", "Untitled"), ("\n\n", "Untitled"), ("AC/DC", "AC-DC"),
        ("one\r\n\ttwo\0three", "one two three"), ("...And Justice", "And Justice"), ("Cafe\u{301}", "Caf\u{E9}"),
        ("حلقة ١٢: مرحبا", "حلقة ١٢: مرحبا"),
    ])
    func aTitleBecomesAName(_ title: String, _ name: String) {
        #expect(FileName.stem(title).utf8.elementsEqual(name.utf8))
    }

    @Test func theCutFallsBetweenCharacters() {
        let family = "👩‍👩‍👧‍👦"  // 25 bytes
        let stem = FileName.stem(String(repeating: family, count: 20))
        #expect(stem == String(repeating: family, count: 235 / family.utf8.count))
        // A flag is a pair of scalars of 4 bytes each. The limit falls into the second flag, which must not be split.
        #expect(FileName.cut("a🇩🇪🇫🇷", to: 13) == "a🇩🇪")
    }

    @Test func aCharacterLongerThanTheLimitIsCutInside() {
        let stem = FileName.stem("a" + String(repeating: "\u{301}", count: 500))
        #expect(stem.utf8.count > 200 && stem.utf8.count <= 235)
    }

    @Test func anAccentOnASpaceIsNotASpace() {
        let stem = FileName.stem("a \u{301}")
        #expect(stem.unicodeScalars.last == "\u{301}")
        #expect(FileName.objection(to: stem) == nil)
    }

    @Test func stemAndExtensionAreSplitAtTheLastDot() {
        #expect(FileName.stem(ofFile: "v1.5 of it.mp3") == "v1.5 of it")
        #expect(FileName.fileExtension(of: "v1.5 of it.mp3") == "mp3")
        #expect(FileName.stem(ofFile: ".hidden") == ".hidden")
        #expect(FileName.fileExtension(of: "none") == "")
    }
}

struct UniqueNamesTests {
    @Test func equalTitlesAreNumbered() {
        var names = UniqueNames(taken: [])
        #expect(names.claim("News") == "News")
        #expect(names.claim("News") == "News (2)")
        #expect(names.claim("NEWS") == "NEWS (3)")
        #expect(names.claim("News (2)") == "News (2) (2)")
        #expect(names.claim("News") { $0 == "news (4)" } == "News (5)")
    }

    @Test func reservedStemsAreTaken() {
        var names = UniqueNames(taken: UniqueNames.reservedInShow)
        #expect(names.claim("Cover") == "Cover (2)")
        #expect(names.claim("index") == "index (2)")
        var root = UniqueNames(taken: UniqueNames.reservedInRoot)
        #expect(root.claim("Latest") == "Latest (2)")
        #expect(root.claim("downloaded") == "downloaded (2)")
        #expect(root.claim("index.html") == "index.html (2)")
    }
}

struct NameTemplateTests {
    private func stem(_ template: NameTemplate, _ change: (inout Item) -> Void) -> String {
        var item = makeItem("Title", url: "https://example.com/a.mp3")
        change(&item)
        return template.stem(for: item, show: "The Show")
    }

    @Test func theStandardNameIsDateAndTitle() {
        #expect(stem(.standard) { _ in } == "2026-11-20 Title")
        #expect(stem(.standard) { $0.published = nil } == "Title")
        #expect(stem(.standard) { $0.title = nil } == "2026-11-20 Untitled")
    }

    @Test func theDayIsThatOfTheFeedsTimeZone() {
        // 23:30 UTC is the next day in Auckland and the same day in Honolulu.
        let late = noon + 41_400
        #expect(stem(.standard) { $0.published = PublicationDate(seconds: late, offset: 0) }.hasPrefix("2026-11-20"))
        #expect(
            stem(.standard) { $0.published = PublicationDate(seconds: late, offset: 46_800) }.hasPrefix("2026-11-21"))
        #expect(
            stem(.standard) { $0.published = PublicationDate(seconds: late, offset: -36_000) }.hasPrefix("2026-11-20"))
    }

    @Test func aMissingFieldIsOmittedWithItsSeparators() throws {
        let numbered = try NameTemplate("{season}x{episode} - {title}")
        #expect(
            stem(numbered) {
                $0.season = 2; $0.episode = 315.5
            } == "2x315.5 - Title")
        #expect(stem(numbered) { $0.episode = 12 } == "12 - Title")
        #expect(stem(numbered) { _ in } == "Title")
        let bracketed = try NameTemplate("{title} ({episode})")
        #expect(stem(bracketed) { $0.episode = 7 } == "Title (7)")
        #expect(stem(bracketed) { _ in } == "Title")
        let inside = try NameTemplate("{show} [{season}] {title}")
        #expect(stem(inside) { _ in } == "The Show Title")
        #expect(stem(inside) { $0.season = 3 } == "The Show [3] Title")
    }

    @Test func aLongTitleIsCutButLaterFieldsStay() throws {
        let template = try NameTemplate("{title} {date}")
        let long = stem(template) { $0.title = String(repeating: "word ", count: 900) }
        #expect(long.hasSuffix(" 2026-11-20"))
        #expect(long.utf8.count <= 235)
    }

    @Test func errorsNameTheMistakeInATemplate() {
        for (text, mistake) in [
            ("{number} {title}", "unknown field {number}"), ("{title", "'{title'"), ("x", "no field"),
        ] {
            let error = #expect(throws: SettingError.self) { try NameTemplate(text) }
            #expect(error?.message.contains(mistake) == true)
        }
    }
}

struct MediaTypeTests {
    @Test(
        arguments: [
            ("audio/mpeg", "https://example.com/a.mp3?x=.exe", "mp3"),
            ("audio/mpeg", "https://example.com/a.m4a", "mp3"),
            ("audio/mpeg", "https://example.com/play", "mp3"),
            ("audio/x-m4a", "https://example.com/a.m4b", "m4b"),
            ("audio/ogg", "https://example.com/a.opus", "opus"),
            ("audio/opus", "https://example.com/a", "opus"),
            ("audio/x-unheard-of", "https://example.com/a.flac", "flac"),
            ("audio/x-unheard-of", "https://example.com/a.mp4", "mp3"),
            ("video/mp4", "https://example.com/a.m4v", "m4v"),
            ("video/mp4", "https://example.com/a.mp3", "mp4"),
            ("video/quicktime", "https://example.com/a", "mov"),
            ("application/octet-stream", "https://example.com/a.ogg", "ogg"),
            ("application/octet-stream", "https://example.com/download", "mp3"),
            (nil, "https://example.com/A.MP3#t=1", "mp3"),
            (nil, "https://example.com", "mp3"),
            (nil, "https://example.com/show.php", "mp3"),
            (nil, "https://example.com/episode.12", "mp3"),
            ("image/jpeg", "https://example.com/a.jpg", "bin"),
            ("application/pdf", "https://example.com/a.pdf", "bin"),
            ("application/x-mpegurl", "https://example.com/live", "m3u8"),
            ("audio/x-mpegurl", "https://example.com/live.m3u", "m3u"),
            (nil, "https://example.com/live.M3U8", "m3u8"),
        ] as [(String?, String, String)])
    func extensionComesFromTheURLWhenItFitsElseFromTheType(_ type: String?, _ url: String, _ expected: String) {
        #expect(MediaType(type: type, url: url).fileExtension == expected)
    }

    /// Extensions that browsers, desktops and shells run or render, and those of the files that podfs shows beside
    /// an episode.
    private static let others = """
        svg svgz xht xhtml xml xsl xslt rss atom rdf opml xspf asx wax wpl smil smi html htm shtml shtm mht mhtml hta htc js \
        mjs cjs css wasm php phtml cgi pl py rb lua sh bash bat cmd ps1 vbs vbe wsf exe com scr msi dll so jar class jnlp lnk \
        url desktop app dmg pkg deb rpm apk zip rar gz tar iso pdf epub swf doc docm ics eml torrent json jpg jpeg png \
        webp gif vtt srt txt md a z x1y2z
        """.split(separator: " ").map(String.init)

    /// The arguments are no type, an empty type, generic and unknown types, and the types of the dangerous files.
    @Test(arguments: [
        nil, "", "application/octet-stream", "text/plain", "text/html", "application/x-other", "image/svg+xml",
        "application/xhtml+xml", "text/xml", "image/png", "application/pdf", "model/x",
    ])
    func anUnlistedExtensionIsNeverUsed(type: String?) {
        for name in Self.others {
            for url in ["https://e.com/a.\(name)", "https://e.com/a.mp3.\(name.uppercased())?b=c.mp3#d.mp3"] {
                let given = MediaType(type: type, url: url).fileExtension
                // A script's extension says nothing about the file, and a suffix of more than five bytes may be the end
                // of a title.
                let isSilent = ["php", "html", "htm", "cgi"].contains(name) || name.utf8.count > 5
                #expect(given == "bin" || given == "mp3" && isSilent, "\(name)")
            }
        }
    }

    @Test(arguments: [
        "audio/mpeg", "audio/x-unheard-of", "audio/svg+xml", "video/mp4", "video/html", "audio/x-mpegurl",
    ])
    func aMediaTypeYieldsAMediaExtension(type: String) {
        for name in Self.others {
            let given = MediaType(type: type, url: "https://e.com/a.\(name)").fileExtension
            #expect(["mp3", "mp4", "m3u8"].contains(given), "\(type) \(name)")
        }
    }

    @Test func everyExtensionOfATypeIsAllowed() {
        for (type, names) in MediaType.types {
            for name in names {
                #expect(MediaType.isAllowed(name))
                #expect(MediaType(type: type, url: "https://e.com/a.\(name)").fileExtension == name)
            }
        }
        #expect(Set(Self.others).isDisjoint(with: MediaType.mediaExtensions))
    }

    /// The reported type is the extended attribute `user.mime_type`, which web servers may send as the Content-Type.
    @Test(
        arguments: [
            ("audio/mpeg", "mp3", "audio/mpeg"), ("Audio/MPEG; x=y", "mp3", "audio/mpeg"), (nil, "opus", "audio/ogg"),
            ("text/html", "mp3", "audio/mpeg"), ("image/svg+xml", "bin", "application/octet-stream"),
            ("audio/x+xml", "mp3", "audio/mpeg"), ("video/html", "mp4", "video/mp4"), ("a\nb/c", "m4a", "audio/mp4"),
            ("audio/mpegurl", "m3u8", "application/vnd.apple.mpegurl"),
            ("audio/x-mpegurl", "m3u8", "application/vnd.apple.mpegurl"),
        ] as [(String?, String, String)])
    func theReportedTypeFitsTheExtension(type: String?, name: String, expected: String) {
        #expect(MediaType.reported(type: type, fileExtension: name) == expected)
    }
}

struct EpisodeSizeTests {
    private func size(_ confirmed: Int64?, _ length: Int64?, _ duration: Double?, video: Bool = false) -> EpisodeSize {
        EpisodeSize(confirmed: confirmed, length: length, duration: duration, type: video ? "video/mp4" : nil, name: "")
    }

    @Test func theServersSizeIsPreferred() {
        let result = size(5, 40_000_000, 3600)
        #expect(result.bytes == 5 && result.source == .server)
        #expect(size(0, 40_000_000, 3600).source == .server)
    }

    @Test func aPlausibleLengthOfTheFeedIsUsed() {
        #expect(size(nil, 57_600_000, 3600) == size(nil, 57_600_000, nil))
        #expect(size(nil, 57_600_000, 3600).source == .feed)
        #expect(size(nil, 10_000, nil).bytes == 10_000)
    }

    @Test func anImplausibleLengthIsReplacedByAnEstimate() {
        // The lengths are placeholders, the duration in the wrong field (3600), less than any codec produces, and more
        // than any codec produces.
        for length: Int64 in [0, -1, 1, 3600, 9_999, 3_599_999, 36_000_000_001] {
            let result = size(nil, length, 3600)
            #expect(result.source == .estimate, "\(length)")
            #expect(result.bytes == 57_600_000)
        }
        #expect(size(nil, nil, 60, video: true).bytes == 7_500_000)
    }

    @Test func withoutAnyDataTheSizeIsUnknown() {
        #expect(size(nil, nil, nil).bytes == 0 && size(nil, nil, nil).source == .unknown)
        for duration in [0, -5, Double.nan, .infinity, 1e300] {
            #expect(size(nil, 12, duration).source == .unknown)
        }
    }
}
