import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

struct ExtendedAttributeTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    // MARK: Listing and getting

    @Test func exactlyTheListedAttributesCanBeRead() throws {
        try mounted.subscribe(episodes: 2)
        for node in [try mounted.episodeNode(), try mounted.entry("Show").node] {
            let names = mounted.xattrNames(node)
            #expect(names.count > 5 && Set(names).count == names.count)
            for name in names {
                let value = try #require(mounted.fact(node, name), "\(name)")
                #expect(!value.isEmpty || name == "user.podfs.ranges", "\(name)")
                #expect(value.last?.isNewline != true)
                #expect(mounted.xattr(node, name, capacity: 0) == .size(value.utf8.count))
            }
            for name in ["user.podfs.error", "user.podfs.nothing", "user."] {
                #expect(mounted.xattr(node, name) == .error(.noData), "\(name)")
            }
            // Security labels and access control lists are not supported.
            for name in ["security.capability", "system.posix_acl_access", "trusted.x", ""] {
                #expect(mounted.xattr(node, name) == .error(.notSupported), "\(name)")
            }
        }
    }

    @Test func sizesAreReportedAndASmallBufferIsAnError() throws {
        try mounted.subscribe()
        let node = try mounted.episodeNode()
        let title = Array("Episode 1".utf8)
        #expect(mounted.xattr(node, "user.dublincore.title", capacity: 0) == .size(9))
        #expect(mounted.xattr(node, "user.dublincore.title", capacity: 9) == .bytes(title))
        #expect(mounted.xattr(node, "user.dublincore.title", capacity: 8) == .error(.outOfRange))
        func list(_ capacity: Int) -> RecordedAnswer? {
            mounted.request { mounted.filesystem.listxattr($0, node: node, capacity: capacity) }.answer
        }
        guard case .size(let size)? = list(0) else {
            Issue.record("no size")
            return
        }
        #expect(list(size - 1) == .error(.outOfRange))
        let bytes = try list(size).bytes
        #expect(bytes.count == size && bytes.last == 0)
    }

    @Test func rootAndGeneratedFilesListNoAttributes() throws {
        let root = NodeID.root
        #expect(mounted.xattrNames(root).isEmpty)
        #expect(mounted.fact(root, "user.podfs.mount.pid") == "\(getpid())")
        #expect(mounted.fact(root, "user.podfs.mount.library") == mounted.library.path)
        #expect(mounted.xattr(root, "user.podfs.id") == .error(.noData))
        let status = try mounted.entry(".status").node
        #expect(mounted.xattrNames(status).isEmpty)
        #expect(mounted.xattr(status, "user.podfs.mount.pid") == .error(.noData))
    }

    // MARK: Episodes

    @Test func anEpisodeHasAttributesForAllKnownFacts() throws {
        let feed = FeedBuilder(
            title: "The Show", language: "de-AT",
            raw: "<itunes:author>Someone</itunes:author>",
            items: [
                .init(
                    title: "A \u{1F600} title", guid: "guid-1", url: "https://media.example/a.mp3?x=1",
                    length: 16_000_000,
                    published: "Sat, 21 Nov 2026 08:00:00 +0200", duration: "1:00:00.5", season: 2, episode: 7,
                    description: "<p>Notes</p>\n", raw: "<itunes:episodeType>bonus</itunes:episodeType>")
            ])
        let podcast = try mounted.subscribe(feed, url: "https://feeds.example/show.xml?y=2")
        let row = try #require(try mounted.library.entries(of: podcast.id).first)
        let node = try mounted.entry("The Show", row.name).node
        try mounted.library.setPlayed(episode: row.id, true, now: 1_700_000_001)
        try mounted.library.setPosition(episode: row.id, 61.5, now: 1_700_000_002)
        let expected = [
            "user.podfs.id": "\(row.id)", "user.podfs.generation": "1", "user.podfs.state": "remote",
            "user.podfs.progress": "0.0", "user.podfs.bytes_received": "0", "user.podfs.bytes_expected": "16000000",
            "user.podfs.ranges": "", "user.podfs.size_source": "feed", "user.podfs.guid": "guid-1",
            "user.podfs.season": "2", "user.podfs.episode": "7", "user.podfs.episode_type": "bonus",
            "user.podfs.duration": "3600.5", "user.podfs.played": "1", "user.podfs.position": "61.5",
            "user.xdg.origin.url": "https://media.example/a.mp3?x=1",
            "user.xdg.referrer.url": "https://feeds.example/show.xml?y=2", "user.mime_type": "audio/mpeg",
            "user.dublincore.title": "A \u{1F600} title", "user.dublincore.creator": "Someone",
            "user.dublincore.publisher": "The Show", "user.dublincore.date": "2026-11-21T06:00:00Z",
            "user.dublincore.description": "<p>Notes</p>", "user.dublincore.identifier": "guid-1",
            "user.dublincore.language": "de-AT",
        ]
        let found = mounted.xattrNames(node).map { ($0, mounted.fact(node, $0) ?? "?") }
        #expect(Dictionary(uniqueKeysWithValues: found) == expected)
    }

    @Test func urlsShowNoCredentials() throws {
        let feed = FeedBuilder(
            title: "Paid",
            items: [
                .init(title: "a", url: "https://user:secret@media.example/a.mp3?token=geheim#f"),
                .init(title: "b", url: "https://media.example/b.mp3?id=3"),
            ])
        try mounted.subscribe(feed, url: "https://me:secret@feeds.example/x?auth=geheim")
        let show = try mounted.entry("Paid").node
        let secret = try mounted.entry("Paid", "a.mp3").node
        #expect(mounted.fact(show, "user.xdg.origin.url") == "https://feeds.example/x")
        #expect(mounted.fact(secret, "user.xdg.origin.url") == "https://media.example/a.mp3")
        #expect(mounted.fact(secret, "user.xdg.referrer.url") == "https://feeds.example/x")
        for node in [show, secret, try mounted.entry("Paid", "b.mp3").node] {
            for name in mounted.xattrNames(node) {
                let value = mounted.fact(node, name) ?? ""
                #expect(!value.contains("secret") && !value.contains("geheim") && !value.contains("user:"), "\(name)")
            }
        }
    }

    @Test func longNotesAreCutAtACharacter() throws {
        let notes = String(repeating: "\u{1F600}", count: 30_000)
        try mounted.subscribe(
            FeedBuilder(title: "Long", items: [.init(title: "x", url: "http://h.example/x.mp3", description: notes)]))
        let value = try #require(mounted.fact(try mounted.entry("Long", "x.mp3").node, "user.dublincore.description"))
        #expect(value.utf8.count <= 65_536 && value.utf8.count > 65_520)
        #expect(notes.hasPrefix(value))
    }

    // MARK: States

    @Test func aWholeFileIsCached() throws {
        try mounted.subscribe(length: 300_000)
        let episode = try mounted.episode()
        try mounted.store(TestContent(seed: 4, size: 250_000), of: episode)
        let node = try mounted.episodeNode()
        #expect(mounted.fact(node, "user.podfs.state") == "cached")
        #expect(mounted.fact(node, "user.podfs.progress") == "100.0")
        #expect(mounted.fact(node, "user.podfs.bytes_received") == "250000")
        #expect(mounted.fact(node, "user.podfs.bytes_expected") == "250000")
        #expect(mounted.fact(node, "user.podfs.ranges") == "0-249999")
        #expect(mounted.fact(node, "user.podfs.size_source") == "server")
        #expect(mounted.fact(node, "user.podfs.sha256") == (try mounted.episode().sha256))
        #expect(mounted.fact(node, "user.podfs.sha256")?.utf8.count == 64)
        #expect(mounted.fact(node, "user.podfs.integrity") == nil)
        try mounted.library.complete(
            episode: episode.id, generation: 1, size: 250_000, sha256: "aa", isVerified: true, now: 1_700_000_400)
        #expect(mounted.fact(node, "user.podfs.integrity") == "verified")
    }

    @Test func withoutADaemonAttributesComeFromCheckpointAndLibrary() throws {
        try mounted.subscribe()
        try mounted.store(
            TestContent(seed: 4, size: 500_000), of: try mounted.episode(), ranges: [0..<100_000, 300_000..<350_001],
            complete: false)
        let node = try mounted.episodeNode()
        #expect(mounted.fact(node, "user.podfs.ranges") == "0-99999,300000-350000")
        #expect(mounted.fact(node, "user.podfs.bytes_received") == "150001")
        #expect(mounted.fact(node, "user.podfs.progress") == "30.0")
        #expect(mounted.fact(node, "user.podfs.state") == "remote")
        let download = try mounted.library.enqueue(episode: try mounted.episode().id, session: "x", now: 1)
        #expect(mounted.fact(node, "user.podfs.state") == "queued")
        try mounted.library.setSuspended(download: download.id, true)
        #expect(mounted.fact(node, "user.podfs.state") == "suspended")
        try mounted.library.fail(download: download.id, error: "the server\nanswered \u{1B}[31m404", errorNumber: 61)
        #expect(mounted.fact(node, "user.podfs.state") == "failed")
        #expect(mounted.fact(node, "user.podfs.error") == "the server\u{FFFD}answered \u{FFFD}[31m404")
        #expect(mounted.xattrNames(node).contains("user.podfs.error"))
    }

    @Test func aRunningTaskHasTheDaemonsAttributes() async throws {
        try mounted.subscribe()
        let daemon = try await mounted.daemon()
        let id = try mounted.episode().id
        var report = TaskInfo(id: 5, state: .running)
        report.episode = id
        report.path = "Show/x"
        report.generation = 1
        report.received = 499_999
        report.expected = 500_000
        report.rate = 0.5
        report.ranges = "0-499998"
        func send(_ body: (TaskInfo) -> Event.Body) {
            daemon.send(Event(sequence: 1, time: 1_700_000_000, body(report)))
        }
        send(Event.Body.progress)
        let node = try mounted.episodeNode()
        try await waitUntil { mounted.fact(node, "user.podfs.state") == "running" }
        // The value is below 100 until the last byte has arrived.
        #expect(mounted.fact(node, "user.podfs.progress") == "99.9")
        #expect(mounted.fact(node, "user.podfs.bytes_received") == "499999")
        #expect(mounted.fact(node, "user.podfs.rate") == "0" && mounted.fact(node, "user.podfs.eta") == "2")
        #expect(mounted.fact(node, "user.podfs.ranges") == "0-499998")
        #expect(mounted.attributes(node)?.blocks == 977)

        // Any rate sent by a daemon is accepted without a crash.
        for (received, rate) in zip(2..., [Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, -1]) {
            report.rate = rate
            report.received = Int64(received)
            send(Event.Body.progress)
            try await waitUntil { mounted.fact(node, "user.podfs.bytes_received") == "\(received)" }
            #expect(mounted.xattrNames(node).contains("user.podfs.rate"))
        }

        report.state = .failed
        report.error = "404"
        report.rate = nil
        send(Event.Body.failed)
        try await waitUntil { mounted.fact(node, "user.podfs.state") == "failed" }
        #expect(mounted.fact(node, "user.podfs.error") == "404")
        #expect(mounted.fact(node, "user.podfs.rate") == nil && mounted.fact(node, "user.podfs.eta") == nil)

        report.state = .remote
        report.error = nil
        send(Event.Body.state)
        try await waitUntil { mounted.fact(node, "user.podfs.state") == "remote" }
        #expect(mounted.fact(node, "user.podfs.error") == nil)
    }

    @Test func anOpenWithoutATaskThatWaitsOrHasFailedShowsItsError() async throws {
        try mounted.subscribe()
        let daemon = try await mounted.daemon()
        let node = try mounted.episodeNode()
        var report = TaskInfo(id: 0, state: .remote)
        report.episode = try mounted.episode().id
        for (state, error) in [(TaskState.remote, "the server answered 503"), (.remote, nil), (.failed, "no route")] {
            (report.state, report.error) = (state, error)
            let body = state == .failed ? Event.Body.failed(report) : .state(report)
            daemon.send(Event(sequence: 1, time: 1_700_000_000, body))
            try await waitUntil { mounted.fact(node, "user.podfs.error") == error }
            #expect(mounted.fact(node, "user.podfs.state") == state.rawValue)
        }
    }

    // MARK: Shows

    @Test func aShowHasAttributesForItsFeed() throws {
        let podcast = try mounted.subscribe(
            FeedBuilder(
                title: "The Show", description: "About <b>it</b>", language: "en",
                raw: "<podcast:guid>917393e3-1b1e-5cef-ace4-edaa54e1f810</podcast:guid>",
                items: [.init(title: "x", url: "http://h.example/x.mp3")]), url: "https://feeds.example/f")
        let show = try mounted.entry("The Show").node
        #expect(mounted.fact(show, "user.podfs.feed.last_refresh") == "2023-11-14T22:13:20Z")
        #expect(mounted.fact(show, "user.podfs.feed.guid") == "917393e3-1b1e-5cef-ace4-edaa54e1f810")
        #expect(mounted.fact(show, "user.podfs.feed.error") == nil)
        #expect(mounted.fact(show, "user.podfs.feed.next_refresh") == nil)
        try mounted.library.refreshFailed(
            podcast: podcast.id, status: 503, error: "the server\nanswered 503", next: 1_700_003_600, now: 1_700_000_001
        )
        #expect(mounted.fact(show, "user.podfs.feed.state") == "failed")
        #expect(mounted.fact(show, "user.podfs.feed.error") == "the server\u{FFFD}answered 503")
        #expect(mounted.fact(show, "user.podfs.feed.http_status") == "503")
        #expect(mounted.fact(show, "user.podfs.feed.next_refresh") == "2023-11-14T23:13:20Z")
    }
}
