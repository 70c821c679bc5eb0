import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastPages

/// Checks of the pages' markup by the rules of axe-core, an accessibility checker: landmarks, headings, names,
/// identifiers.
struct AccessibilityTests {
    private static let show = Podcast(
        id: 1, name: "S", url: "https://a.example/f", title: "T", image: "https://a.example/i", episodes: 20)
    private static let heard = EpisodeSummary(
        id: 7, name: "a.mp3", title: "E", duration: 3_600, position: 1_800, podcast: 1)

    private static var pages: [(name: String, text: String)] {
        var shelf = Shelf([show], newest: [:])
        (shelf.inProgress, shelf.latest) = ([heard], [heard])
        var page = ShowPage(show, newest: nil)
        for number in 1...(ShowPage.rowLimit + 2) {
            page.add(
                EpisodeSummary(
                    id: EpisodeID(Int64(number)), name: "\(number).mp3", title: "E", duration: 100, position: 50,
                    season: number / 4, notes: "<h5>N</h5><h1>M</h1>"))
        }
        let task = StatusReport.Task(
            TaskInfo(
                id: 1, kind: .download, path: "S/a.mp3", episode: nil, state: .running, received: 1, expected: 2,
                rate: 1, error: "e",
                started: 0), now: 0)
        let ended = [StatusPage.Ended(path: "S/a.mp3", time: 0)]
        let episode = Episode(id: 1, podcast: 1, name: "E.mp3", title: "E", url: "https://a.example/1.mp3")
        return [
            (name: "shelf", text: text(shelf.page)), (name: "show", text: text(page.finish())),
            (
                name: "status",
                text: text(StatusPage.bytes(StatusReport(tasks: [task]), rates: [1, 2], ended: ended))
            ),
            (name: "notes", text: text(NotesPage.bytes(of: episode, notes: "<h5>N</h5><h1>M</h1>", show: show))),
            (name: "folder", text: text(ViewPage.bytes(folder: "Commute", [heard], shows: [1: show]))),
        ]
    }

    @Test func everyPageCanBeReadAloudAndUsedWithoutAMouse() throws {
        for (name, page) in Self.pages {
            let page = markup(page)
            #expect(count("<main>", in: page) == 1 && count("</main>", in: page) == 1, "\(name)")
            #expect(page.contains("<html lang=\"en\">") && count("<title>", in: page) == 1, "\(name)")
            #expect(!page.contains("http-equiv=\"refresh\"") && !page.contains("tabindex"), "\(name)")
            let levels = page.matches(of: #/<h([1-6])[ >]/#).compactMap { Int($0.1) }
            #expect(levels.first == 1 && levels.count { $0 == 1 } == 1, "\(name): \(levels.prefix(9))")
            for (above, below) in zip(levels, levels.dropFirst()) {
                #expect(below <= above + 1, "\(name): h\(below) after h\(above)")
            }
            for tag in page.matches(of: #/<(audio|video|progress|nav|section|svg|a data-player)[^>]*>/#) {
                #expect(tag.0.contains("aria-label="), "\(name): \(tag.0)")
            }
            for tag in page.matches(of: #/<img[^>]*>/#) { #expect(tag.0.contains("alt=\""), "\(name): \(tag.0)") }
            let ids = page.matches(of: #/ id="([^"]*)"/#).map { String($0.1) }
            #expect(Set(ids).count == ids.count, "\(name)")
        }
    }
}
