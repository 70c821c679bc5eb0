import Testing
import Transfers

@testable import PodcastLibrary

struct RetentionTests {
    private var (folder, library) = makeLibrary()

    @Test func factsAreTakenFromTheRows() throws {
        let show = try library.subscribe([
            makeItem("A", url: "https://m.example/a.mp3", published: nil, duration: 60),
            makeItem("B", url: "https://m.example/b.mp3"), makeItem("C", url: "https://m.example/c.mp3"),
        ]).podcast
        let ids = try library.episodes(of: show.id).sorted { $0.title < $1.title }.map(\.id)
        try library.setPosition(episode: ids[0], 3, now: noon)
        try library.setPinned(episode: ids[0], true, now: noon)
        let automatic = try library.enqueue(episode: ids[0], session: "podfs", automatic: true, now: noon)
        try library.fail(download: automatic.id, error: "404", errorNumber: 61)
        try library.decline([ids[1]])
        _ = try library.bury(episodes: [ids[2]], now: noon)
        let facts = try library.retainedEpisodes(of: show.id, goneError: 61).sorted { $0.id < $1.id }
        var expected = [
            RetainedEpisode(
                id: ids[0], moment: noon, title: "A", duration: 60, position: 3, pinned: true, hasTask: true,
                isMediaGone: true, isAutomatic: true),
            RetainedEpisode(id: ids[1], moment: noon, title: "B", isDeclined: true),
            RetainedEpisode(id: ids[2], moment: noon, title: "C"),
        ]
        expected[2].isBuried = true
        #expect(facts == expected.sorted { $0.id < $1.id })
        #expect(try library.hasRetention(show.id))
    }
}
