import Fuse
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing

/// Folders of links: views such as `Latest` and `Downloaded`, and tags.
struct LinkFolderTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    private func links(_ folder: String) throws -> [String] { Array(try mounted.names(folder).dropFirst(3)) }

    private func target(_ node: NodeID) -> RecordedAnswer? {
        mounted.request { mounted.filesystem.readlink($0, node: node) }.answer
    }

    @Test func theLatestEpisodesOfAllShowsAreLinks() throws {
        try mounted.subscribe("One", episodes: 40)
        try mounted.subscribe("Two", episodes: 30)
        let found = try links("Latest")
        #expect(found.count == 50 && Set(found).count == 50)
        let latest = "2026-02-09 Episode 40 - One.mp3"
        #expect(found.contains(latest) && found.contains("2026-01-30 Episode 30 - Two.mp3"))
        let link = try mounted.entry("Latest", latest)
        let attributes = link.attributes
        let episode = try mounted.entry("One", "2026-02-09 Episode 40.mp3").attributes
        #expect(attributes.kind == .symlink && attributes.permissions == 0o777)
        #expect(attributes.modified == episode.modified && attributes.changed == episode.changed)
        #expect(
            attributes.inode != episode.inode && attributes.inode & 0xFF_FFFF_FFFF == episode.inode & 0xFF_FFFF_FFFF)
        #expect(target(link.node) == .link("../One/2026-02-09 Episode 40.mp3"))
        #expect(attributes.size == 32 && mounted.attributes(link.node) == attributes)
        #expect(
            mounted.lookup("2026-01-01 Episode 1 - One.mp3", in: try mounted.entry("Latest").node)
                == .error(.noSuchFileOrDirectory))
    }

    @Test func removedLinksAreInvalidated() async throws {
        let podcast = try mounted.subscribe("One", episodes: 2)
        let episode = try mounted.episode(2)
        try mounted.store(TestContent(seed: 1, size: 500_000), of: episode)
        let daemon = try await mounted.daemon()
        let downloaded = try mounted.entry("Downloaded").node
        let latest = try mounted.entry("Latest").node
        #expect(try links("Downloaded").count == 1 && links("Latest").count == 2)
        // Evict the episode.
        try mounted.library.dropRendition(episode: episode.id, now: 1_700_000_500)
        let event = Event(sequence: 1, time: 1_700_000_500, .episode(episode.id, formerName: nil))
        daemon.send(event)
        let gone = RecordingNotifier.Message.entry(parent: downloaded, name: "2026-01-02 Episode 2 - One.mp3")
        try await waitUntil { mounted.notifier.messages.contains(gone) }
        try await waitUntil { mounted.notifier.messages.contains(.attributes(downloaded)) }
        #expect(!mounted.notifier.messages.contains(.attributes(latest)))
        #expect(try links("Downloaded").isEmpty)
        // A renamed show has links with other names and other targets.
        try mounted.library.renamePodcast(id: podcast.id, to: "Uno")
        daemon.send(Event(sequence: 2, time: 1_700_000_600, .show(podcast.id, name: "Uno", formerName: nil)))
        for number in 1...2 {
            let old = RecordingNotifier.Message.entry(
                parent: latest, name: "2026-01-0\(number) Episode \(number) - One.mp3")
            try await waitUntil { mounted.notifier.messages.contains(old) }
        }
        let link = try mounted.entry("Latest", "2026-01-01 Episode 1 - Uno.mp3")
        #expect(target(link.node) == .link("../Uno/2026-01-01 Episode 1.mp3"))
    }

    @Test func aPlayedEpisodeLeavesUnplayedAtOnce() async throws {
        try mounted.subscribe("One", episodes: 2)
        let daemon = try await mounted.daemon()
        let unplayed = try mounted.entry("Unplayed").node
        let name = "2026-01-02 Episode 2 - One.mp3"
        #expect(try links("Unplayed").sorted() == ["2026-01-01 Episode 1 - One.mp3", name])
        let playlist = try mounted.entry("Unplayed", "playlist.m3u8")
        #expect(playlist.attributes.kind == .regular && playlist.attributes.size > 0)
        #expect(try mounted.entry("Unplayed", ".nomedia").attributes.size == 0)
        let episode = try mounted.episode(2)
        try mounted.library.setPlayed(episode: episode.id, true, now: 1_700_000_500)
        daemon.send(Event(sequence: 1, time: 1_700_000_500, .episode(episode.id, formerName: nil)))
        try await waitUntil { mounted.notifier.messages.contains(.entry(parent: unplayed, name: name)) }
        try await waitUntil { mounted.notifier.messages.contains(.attributes(playlist.node)) }
        #expect(try links("Unplayed") == ["2026-01-01 Episode 1 - One.mp3"])
        // Once the kernel has forgotten the folder, the filesystem sends no invalidation for it.
        mounted.filesystem.forget(node: unplayed, count: 9)
        let count = mounted.notifier.messages.count { $0 == .attributes(unplayed) }
        try mounted.library.setPlayed(episode: episode.id, false, now: 1_700_000_600)
        daemon.send(Event(sequence: 2, time: 1_700_000_600, .episode(episode.id, formerName: nil)))
        daemon.send(Event(sequence: 3, time: 1_700_000_600, .view(name: "Gone", isRemoved: true)))
        try await waitUntil { mounted.notifier.messages.contains(.entry(parent: .root, name: "Gone")) }
        #expect(mounted.notifier.messages.count { $0 == .attributes(unplayed) } == count)
    }
}
