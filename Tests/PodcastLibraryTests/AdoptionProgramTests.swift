import Foundation
import Platform
import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

/// A thousand files of made-up shows, named by the rules of five programs. The library has forgotten every seventh
/// episode, whose file must not become that of another one.
struct AdoptionProgramTests {
    private struct Program: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Returns the folders and the name of the file of an episode of a show.
        var place: @Sendable (EpisodeSummary, Subscription) -> (folders: [String], name: String)
    }

    private static let titles: [(show: String, title: @Sendable (Int) -> String)] = [
        (
            "99% Invented",
            { "99% Invented-\($0)- A story about \(String(repeating: "very ", count: $0 % 40))long titles \($0)" }
        ),
        ("AudioNews", { "News of day \($0)" }),
        ("Der Küchenfunk", { "Folge \($0) – Öl, Äpfel & Überraschung Nr. \($0 * 7)" }),
        ("Hard Fork & Friends", { "#\($0): Who’s “right”? — Part \($0 % 3 + 1)" }),
        (
            "Owls",
            { ["Wings", "Beaks", "Q&A", "Mailbag", "Nests/Eggs", "Night: 24/7"][$0 % 6] + " \($0 / 6 + 1)" }
        ),
    ]

    private static let shows = titles.enumerated().map { number, show in
        Subscription(
            podcast: ShowID(Int64(number) + 1), name: show.show, url: "https://feeds.example.com/\(number)",
            title: show.show)
    }

    private static let episodes = zip(shows, titles).enumerated().flatMap { place, pair in
        (1...40).map { number in
            let (show, title) = (pair.0, pair.1.title(number))
            let published = noon + Int64(number) * day + Int64(place)
            // One host names all files alike, one puts the name into the query, the others number or title them.
            let letters = FileName.folded(title).filter { $0.isASCII && $0.isLetter }
            let url =
                switch place {
                case 0: "https://a.example.com/\(number)/news-\(number * 31)-final.mp3"
                case 1: "https://b.example.com/e/\(number)/owl%20\(number)%2Dtape.mp3?token=\(number)"
                case 2: "https://c.example.com/play.php?id=\(9_000 + number)"
                case 3:
                    "https://d.example.com/2026/\(letters)\(number).mp3"
                default: "https://e.example.com/hf\(number).mp3"
                }
            return EpisodeSummary(
                id: EpisodeID(Int64(place * 40 + number)),
                name: "\(GregorianDay(seconds: published)?.description ?? "") \(FileName.stem(title)).mp3",
                title: title, published: published, size: 20_000_000 + published % 1_000_000, sizeSource: .feed,
                podcast: show.podcast, guid: "\(place)-\(number)", url: url)
        }
    }

    private static func base(_ url: String) -> String {
        String(url.prefix { $0 != "?" }.split(separator: "/").last ?? "")
    }

    private static func replacing(_ text: String, _ forbidden: String, with other: String) -> String {
        text.map { forbidden.contains($0) ? other : String($0) }.joined()
    }

    /// AntennaPod's rule: no accents, and only ASCII letters, digits, spaces, hyphens and underscores.
    private static func antennaPod(_ text: String) -> String {
        let plain = text.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
            $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || " _-".unicodeScalars.contains($0))
        }
        return String(String.UnicodeScalarView(plain)).split(separator: " ").joined(separator: " ")
    }

    private static let fullWidth: [Character: String] = [
        "?": "？", ":": "：", "/": "⧸", "\"": "＂", "|": "｜", "*": "＊",
    ]

    private static let programs = [
        Program(testDescription: "gPodder") { episode, show in
            let name = base(episode.url).removingPercentEncoding ?? ""
            let stem = replacing(FileName.stem(ofFile: name), "\"*/:<>?\\|", with: "_").prefix(120)
            return (["Downloads", String(replacing(show.title, "/:", with: "_").prefix(60))], "\(stem).mp3")
        },
        Program(testDescription: "podget") { episode, show in
            (["POD", "News", replacing(show.title, " /", with: "_")], base(episode.url).replacing("%20", with: "_"))
        },
        Program(testDescription: "AntennaPod") { episode, show in
            (["media", antennaPod(show.title)], "\(antennaPod(episode.title).prefix(220)).mp3")
        },
        Program(testDescription: "castget") { episode, show in
            (
                ["casts", replacing(show.title.lowercased(), " ", with: "-")],
                replacing(episode.title, "/", with: "_") + ".mp3"
            )
        },
        Program(testDescription: "yt-dlp") { episode, show in
            let title = episode.title.map { fullWidth[$0] ?? String($0) }.joined()
            let id = FileName.stem(ofFile: base(episode.url).removingPercentEncoding ?? "")
            return (["yt"], "\(show.title) - \(title.prefix(150)) [\(id)].mp3")
        },
    ]

    /// - Parameter hasSizes: Whether the files have the sizes of the feed, as real downloads mostly do.
    @Test(arguments: programs, [true, false]) private func filesFindTheirEpisodes(program: Program, hasSizes: Bool) {
        let known = Self.episodes.filter { $0.id.rawValue % 7 != 0 }
        let files = Self.episodes.map { episode in
            let place = program.place(episode, Self.shows[Int(episode.podcast.rawValue) - 1])
            return AdoptableFile(
                path: (place.folders + [place.name]).joined(separator: "/"), folders: ["old"] + place.folders,
                size: hasSizes ? episode.size : 12_345, format: .mpegAudio)
        }
        let decisions = AdoptionMatcher(shows: Self.shows, episodes: known).decisions(about: files)
        var right = 0
        for (episode, (file, decision)) in zip(Self.episodes, zip(files, decisions)) {
            guard case .adopt(let found, _) = decision else { continue }
            #expect(found == episode.id, "\(file.path)")
            if found == episode.id { right += 1 }
        }
        // Without a size, a host that calls all files alike leaves nothing to know them by.
        let isHopeless = !hasSizes && (program.testDescription == "gPodder" || program.testDescription == "podget")
        let possible = known.count { !isHopeless || $0.podcast != 3 }
        #expect(right * 100 >= possible * 95, "\(right) of \(possible)")
    }
}
