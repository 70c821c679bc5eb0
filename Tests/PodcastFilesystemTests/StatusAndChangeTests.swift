import Foundation
import Fuse
import Glibc
import PodcastFeed
import PodcastFilesystem
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import TestSupport
import Testing
import Transfers

/// The effects of the daemon's events on a mount: the content of its status files, and the invalidations that it sends
/// to the kernel.
struct StatusAndChangeTests {
    private let mounted: Mounted

    init() throws { mounted = try Mounted() }

    private func task(_ state: TaskState = .running, received: Int64 = 250_000) throws -> TaskInfo {
        TaskInfo(
            id: 4, kind: .download, path: "Show/2026-01-01 Episode 1.mp3", episode: try mounted.episode().id,
            state: state, received: received, expected: 500_000, rate: state == .running ? 1_024 : nil, error: nil,
            started: 1_700_000_000)
    }

    private func event(_ body: Event.Body) -> Event { Event(sequence: 1, time: 1_700_000_000, body) }

    private func report(
        _ task: TaskID, _ state: TaskState, of episode: EpisodeID? = nil, change: (inout TaskInfo) -> Void = { _ in }
    ) -> TaskInfo {
        var report = TaskInfo(id: task, state: state)
        report.episode = episode
        change(&report)
        return report
    }

    /// Returns an event about the refresh of the show "Show".
    private func fetch(_ state: TaskState) -> Event {
        event(
            .state(
                report(-3, state) {
                    $0.kind = .refresh
                    $0.path = "Show"
                }))
    }

    // MARK: Status

    @Test func statusFilesShowTheDaemonsTasks() async throws {
        try mounted.subscribe()
        let daemon = try await mounted.daemon(tasks: [try task()])
        try await waitUntil { try await mounted.content(".status").hasPrefix("1 running, 0 queued") }
        #expect(try await mounted.content(".status").contains("50.0%"))
        let json = try JSONSerialization.jsonObject(with: Data(try await mounted.content(".status.json").utf8))
        let tasks = try #require((json as? [String: Any])?["tasks"] as? [[String: Any]])
        #expect(tasks.count == 1 && tasks[0]["id"] as? Int == 4 && tasks[0]["progress"] as? Double == 50)
        #expect(tasks[0]["path"] as? String == "Show/2026-01-01 Episode 1.mp3" && tasks[0]["eta"] as? Int == 245)

        // A refresh starts, as a separate task, and the download completes.
        let id = try mounted.episode().id
        daemon.send(fetch(.running))
        daemon.send(event(.completed(report(4, .cached, of: id))))
        try await waitUntil { try await !mounted.content(".status").contains("Episode 1") }
        let rest = try await mounted.content(".status.json")
        #expect(rest.contains("\"kind\": \"refresh\"") && rest.contains("\"path\": \"Show\""))
        daemon.send(fetch(.remote))
        try await waitUntil { try await mounted.content(".status") == "no active tasks\n" }
        // Each lookup returns the size at that moment.
        #expect(try mounted.entry(".status").attributes.size == 16)
    }

    @Test func theListOfSubscriptionsIsCurrentAndShowsNoSecret() async throws {
        let name = ".subscriptions.opml"
        #expect(try OPML.parse(Array(try await mounted.content(name).utf8)).subscriptions.isEmpty)
        let show = try mounted.subscribe("Show")
        let secret = try mounted.subscribe(
            .show("Private", episodes: 1) { "http://127.0.0.1:9/\($0).mp3?key=hush" },
            url: "http://127.0.0.1:9/private.xml?token=hush", now: 1_700_000_050)
        try mounted.library.setHasCredentials(podcast: secret.id, true)
        let text = try await mounted.content(name)
        let list = try OPML.parse(Array(text.utf8))
        #expect(list.subscriptions.map(\.url) == ["http://127.0.0.1:9/private.xml", "http://127.0.0.1:9/Show.xml"])
        #expect(list.subscriptions.map(\.text) == ["Private", "Show"] && !text.contains("hush"))
        let entry = try mounted.entry(name)
        #expect(entry.attributes.size == Int64(text.utf8.count) && entry.attributeTimeout == 0)
        // The modification time is the same at each lookup.
        #expect(try mounted.entry(name).attributes.modified == entry.attributes.modified)
        try mounted.library.renamePodcast(id: show.id, to: "Other")
        #expect(try await mounted.content(name).contains("text=\"Other\" title=\"Show\""))
        // The secrets are removed from the URLs in extended attributes too.
        let folder = try mounted.entry("Private").node
        #expect(mounted.fact(folder, "user.xdg.origin.url") == "http://127.0.0.1:9/private.xml")
        let episode = try mounted.entry("Private", "2026-01-01 Episode 1.mp3").node
        #expect(mounted.fact(episode, "user.xdg.origin.url") == "http://127.0.0.1:9/1.mp3")
        #expect(mounted.fact(episode, "user.xdg.referrer.url") == "http://127.0.0.1:9/private.xml")
    }

    @Test func withoutADaemonTheStatusComesFromTheLibrary() async throws {
        try mounted.subscribe(episodes: 3)
        let daemon = try await mounted.daemon(tasks: [try task()])
        try await waitUntil { try await mounted.content(".status").hasPrefix("1 running") }
        let queued = try mounted.library.enqueue(episode: try mounted.episode(1).id, session: "x", now: 1)
        let suspended = try mounted.library.enqueue(episode: try mounted.episode(2).id, session: "x", now: 2)
        let failed = try mounted.library.enqueue(episode: try mounted.episode(3).id, session: "x", now: 3)
        try mounted.library.setSuspended(download: suspended.id, true)
        try mounted.library.fail(download: failed.id, error: "it is gone", errorNumber: 61)
        daemon.die()
        try await waitUntil {
            try await mounted.content(".status").hasPrefix("0 running, 1 queued, 1 suspended, 1 failed")
        }
        let text = try await mounted.content(".status")
        #expect(text.contains("2026-01-03 Episode 3.mp3: it is gone\n"))
        #expect(queued.id < suspended.id && text.split(separator: "\n").count == 4)
    }

    // MARK: Changes

    private func messages(after event: Event, _ daemon: FakeDaemon) async throws -> [RecordingNotifier.Message] {
        mounted.notifier.clear()
        daemon.send(event)
        // A second event, about the show "Other", marks the end: its messages follow those of `event`.
        let other = try #require(try mounted.library.podcast(named: "Other"))
        daemon.send(self.event(.show(other.id, name: "Other", formerName: nil)))
        let last = RecordingNotifier.Message.entry(parent: .root, name: "Other")
        // Wait for the second event's last message too. Otherwise it might arrive after the next call of this function
        // has cleared the messages.
        try await waitUntil {
            mounted.notifier.messages.drop { $0 != last }.contains(.attributes(.root))
        }
        return Array(mounted.notifier.messages.prefix { $0 != last })
    }

    @Test func changesAreInvalidated() async throws {
        let podcast = try mounted.subscribe()
        try mounted.subscribe("Other", episodes: 2)
        let daemon = try await mounted.daemon()
        let id = try mounted.library.entries(of: podcast.id)[0].id
        let show = NodeNumber(kind: .show, row: podcast.id).node
        func node(_ generation: Int) -> NodeID { NodeNumber(kind: .episode, generation: generation, row: id).node }

        let progress = event(.progress(report(1, .running, of: id)))
        #expect(try await messages(after: progress, daemon) == [.attributes(node(1))])
        let changed = event(.episode(id, formerName: nil))
        let made = [NodeNumber.Kind.playlist, .notesFolder, .chaptersFolder, .alternates, .page].map { kind in
            RecordingNotifier.Message.attributes(NodeNumber(kind: kind, row: podcast.id).node)
        }
        #expect(try await messages(after: changed, daemon) == [.attributes(node(1))] + made)
        // Of the generated files, only the page shows whether an episode is cached.
        let completed = event(.completed(report(1, .cached, of: id)))
        #expect(try await messages(after: completed, daemon) == [.attributes(node(1)), made[4]])
        // The name leads to another node, since the generation has changed.
        try mounted.library.dropRendition(episode: id, now: 1_700_000_500)
        #expect(
            try await messages(after: changed, daemon) == [
                .attributes(node(2)), .entry(parent: show, name: "2026-01-01 Episode 1.mp3"),
            ] + made)
        let shows = event(.show(podcast.id, name: "Show", formerName: nil))
        #expect(
            try await messages(after: shows, daemon) == [
                .entry(parent: .root, name: "Show"), .attributes(show),
            ] + made + [.attributes(.root)])
        #expect(try await messages(after: event(.idle), daemon) == [])
        #expect(try await messages(after: event(.episode(999, formerName: nil)), daemon) == [])
    }

    @Test func attributesAreNotCachedFromAPushToTheLastClose() async throws {
        let podcast = try mounted.subscribe(length: 111_111)
        try mounted.subscribe("Other", episodes: 1)
        let daemon = try await mounted.daemon()
        let name = "2026-01-01 Episode 1.mp3"
        let node = try mounted.entry("Show", name).node
        let id = try mounted.library.entries(of: podcast.id)[0].id
        let progress = event(.progress(report(1, .running, of: id)))
        // Each open invalidates the kernel's attributes, so that the kernel asks for the size confirmed before the
        // open. Until the file is closed, events cause no further invalidation.
        let questions: [(Int64, () throws -> Int64?)] = [
            (400_000, { mounted.attributes(node)?.size }),
            (400_001, { try mounted.entry("Show", name).attributes.size }),
            (
                400_002,
                {
                    let show = try mounted.entry("Show").node
                    let list = mounted.list(show, try mounted.opendir(show))
                    return list?.first { $0.name == name }?.size
                }
            ),
        ]
        for (size, question) in questions {
            try mounted.library.confirm(episode: id, size: size, now: 1_700_000_001)
            mounted.notifier.clear()
            let handle = try await mounted.open(node).handle()
            #expect(mounted.notifier.messages == [.attributes(node)])
            #expect(try await messages(after: progress, daemon) == [])
            #expect(try question() == size)
            #expect(try await messages(after: progress, daemon) == [])
            #expect(try mounted.entry("Show", name).attributeTimeout == 0)
            mounted.notifier.clear()
            mounted.release(node, handle)
            #expect(mounted.notifier.messages == [.attributes(node)])
            #expect(try mounted.entry("Show", name).attributeTimeout > 0)
            #expect(try await messages(after: progress, daemon) == [.attributes(node)])
        }
    }

    @Test func changesWithoutADaemonAreInvalidatedLater() async throws {
        let podcast = try mounted.subscribe(episodes: 3)
        let first = try await mounted.daemon()
        first.die()
        try await waitUntil { !mounted.link.isConnected }
        mounted.notifier.clear()
        try mounted.library.dropRendition(episode: try mounted.episode(2).id, now: Int64(time(nil)) + 1)
        let second = try FakeDaemon(mounted.paths)
        try await waitUntil(description: "the daemon is found") {
            try second.writePIDFile()
            return mounted.link.isConnected
        }
        let id = try mounted.episode(2).id
        let show = NodeNumber(kind: .show, row: podcast.id).node
        try await waitUntil { mounted.notifier.messages.contains(.attributes(.root)) }
        let messages = Set(mounted.notifier.messages)
        #expect(messages.contains(.attributes(NodeNumber(kind: .episode, generation: 2, row: id).node)))
        #expect(messages.contains(.entry(parent: show, name: "2026-01-02 Episode 2.mp3")))
        #expect(messages.isSuperset(of: besides("2026-01-02 Episode 2", podcast)))
        #expect(messages.contains(.attributes(NodeNumber(kind: .page, row: podcast.id).node)))
        #expect(messages.count == 4 + 6)
    }

    @Test func formerNamesOfShowsAreInvalidatedWhenADaemonIsFound() async throws {
        let renamed = try mounted.subscribe("Show")
        let removed = try mounted.subscribe("Removed")
        try mounted.subscribe("Other")
        mounted.start()
        try mounted.library.renamePodcast(id: renamed.id, to: "New")
        _ = try mounted.library.unsubscribe(podcast: removed.id)
        let daemon = try FakeDaemon(mounted.paths)
        try await waitUntil(description: "the daemon is found") {
            try daemon.writePIDFile()
            return mounted.notifier.messages.contains(.attributes(.root))
        }
        let messages = mounted.notifier.messages
        for name in ["Show", "Removed"] { #expect(messages.contains(.entry(parent: .root, name: name)), "\(name)") }
        #expect(!messages.contains(.entry(parent: .root, name: "Other")))
    }

    /// Returns the invalidations of the names that an episode's other files may have.
    private func besides(_ stem: String, _ podcast: Podcast) -> [RecordingNotifier.Message] {
        func folder(_ kind: NodeNumber.Kind) -> NodeID { NodeNumber(kind: kind, row: podcast.id).node }
        return ["jpg", "vtt", "srt"].map { .entry(parent: folder(.show), name: "\(stem).\($0)") } + [
            .entry(parent: folder(.notesFolder), name: "\(stem).html"),
            .entry(parent: folder(.chaptersFolder), name: "\(stem).json"),
            .entry(parent: folder(.alternates), name: stem),
        ]
    }

    @Test func removedNamesAreInvalidated() async throws {
        let podcast = try mounted.subscribe(episodes: 2)
        try mounted.subscribe("Other")
        let daemon = try await mounted.daemon()
        let show = NodeNumber(kind: .show, row: podcast.id).node
        let entries = try mounted.library.entries(of: podcast.id)
        let (first, second) = (entries[1], entries[0])
        try mounted.library.renameEpisode(id: first.id, to: "Pilot")
        let renamed = try await messages(after: event(.episode(first.id, formerName: first.name)), daemon)
        #expect(renamed.contains(.entry(parent: show, name: first.name)))
        #expect(Set(renamed).isSuperset(of: besides("2026-01-01 Episode 1", podcast)))

        // Retention removes one episode.
        _ = try mounted.library.bury(episodes: [second.id], now: 1_700_000_100)
        let buried = try await messages(after: event(.episode(second.id, formerName: nil)), daemon)
        #expect(buried.contains(.entry(parent: show, name: second.name)))
        #expect(Set(buried).isSuperset(of: besides("2026-01-02 Episode 2", podcast)))

        try mounted.library.renamePodcast(id: podcast.id, to: "New")
        let show2 = try await messages(after: event(.show(podcast.id, name: "New", formerName: "Show")), daemon)
        #expect(show2.contains(.entry(parent: .root, name: "Show")))
        #expect(show2.contains(.entry(parent: .root, name: "New")))
    }

    @Test func aRefreshInvalidatesTheChangedEpisodes() async throws {
        let podcast = try mounted.subscribe(episodes: 3)
        try mounted.subscribe("Other")
        let daemon = try await mounted.daemon()
        let ids = try (1...3).map { try mounted.episode($0).id }
        let now = Int64(time(nil)) + 10
        var feed = FeedBuilder.show("Show", episodes: 3, length: 500_000) { "http://127.0.0.1:9/Show/\($0).mp3" }
        feed.items[1].length = 600_000
        try mounted.refresh(podcast, feed, now: now)
        func refreshed(at moment: Int64) -> Event {
            Event(sequence: 1, time: moment, .show(podcast.id, name: "Show", formerName: nil))
        }
        func number(_ id: EpisodeID) -> RecordingNotifier.Message {
            .attributes(NodeNumber(kind: .episode, generation: 1, row: id).node)
        }
        let told = try await messages(after: refreshed(at: now + 1), daemon)
        #expect(told.contains(number(ids[1])) && !told.contains(number(ids[0])) && !told.contains(number(ids[2])))
        #expect(Set(told).isSuperset(of: besides("2026-01-02 Episode 2", podcast)))
        // A change is sent once: the next event invalidates only the episodes that changed later.
        feed.items[0].length = 700_000
        try mounted.refresh(podcast, feed, now: now + 10)
        let again = try await messages(after: refreshed(at: now + 10), daemon)
        #expect(again.contains(number(ids[2])) && !again.contains(number(ids[1])))
    }
}

/// Opens that wait for failing servers. They are shown like tasks, although there is no task before the first read.
struct LiveTaskTests {
    private func report(_ state: TaskState, id: TaskID = 0, error: String? = nil) -> TaskInfo {
        var report = TaskInfo(id: id, state: state)
        (report.episode, report.path, report.error) = (5, "A/B.mp3", error)
        (report.nextTry, report.estimate) = (1_012, 300)
        return report
    }

    private func event(_ body: Event.Body) -> Event { Event(sequence: 1, time: 1_000, body) }

    @Test func aWaitingOpenIsListedUntilItEnds() throws {
        let live = LiveTasks()
        live.apply(event(.state(report(.remote, error: "the server answered 500"))))
        let info = try #require(live.all.first)
        #expect(live.all.count == 1 && info.path == "A/B.mp3" && info.state == .queued && info.nextTry == 1_012)
        #expect(StatusReport(live.all, now: 1_000).tasks.first?.reason == "the server answered 500; next try in 12s")
        #expect(StatusReport(live.all, now: 1_013).tasks.first?.reason == "the server answered 500")
        #expect(StatusReport(live.all, now: 1_000).tasks.first?.sizeText == "~300 B")
        // The daemon has created a task, which replaces the waiting open.
        live.apply(event(.state(report(.running, id: 8))))
        #expect(live.all.map(\.id) == [8])
        live.apply(event(.state(report(.remote, id: 8))))
        #expect(live.all.isEmpty)
        // An open that has failed for good is no longer listed.
        live.apply(event(.failed(report(.failed, error: "no route"))))
        #expect(live.all.isEmpty && live.retryError(of: 5)?.isFinal == true)
    }

    @Test func theDaemonsListContainsWaitingOpens() {
        let live = LiveTasks()
        var info = TaskInfo(
            id: 0, kind: .download, path: "A/B.mp3", episode: 5, state: .queued, received: 0, expected: nil, rate: nil,
            error: "no answer", started: 1)
        live.replace(with: [info])
        #expect(live.all.map(\.path) == ["A/B.mp3"] && live.retryError(of: 5)?.isFinal == false)
        info.id = 3
        live.replace(with: [info])
        #expect(live.all.map(\.id) == [3] && live.retryError(of: 5) == nil)
    }
}
