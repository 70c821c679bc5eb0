import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Daemons that crash during work. A crash is simulated by not closing the journal.
@Suite(.stopsDaemons) struct WorkJournalTests {
    private let home = ServiceHome()
    private let now = Int64(Date().timeIntervalSince1970)

    @discardableResult
    private func die(under items: [WorkItem]) -> WorkJournal {
        let journal = WorkJournal(paths: home.paths)
        _ = journal.open(now: now) { "\($0.kind) \($0.id)" }
        journal.begin(items)
        return journal
    }

    /// Adds an upload to `path` to the library.
    private func addUpload(to path: String) throws -> Upload {
        let copy = UUID().uuidString
        try Data("media".utf8).write(to: URL(fileURLWithPath: home.paths.uploads + "/" + copy))
        return try Library.openForWriting(at: home.paths.library).add(
            Upload(
                url: home.web.url(path), title: "Mine", description: nil,
                media: SnapshotFile(file: copy, name: "m.mp3"), size: 5, idempotencyKey: path, created: now))
    }

    private func skipped() -> [WorkItem] { WorkJournal.skipped(home.paths, now: now).map(\.item) }

    @Test func markersSurviveACrashAndNotAnExit() {
        let item = WorkItem(kind: .upload, id: 7)
        die(under: [item, WorkItem(kind: .sync)])
        let second = WorkJournal(paths: home.paths)
        #expect(second.open(now: now) { _ in "name" }.isEmpty)
        second.begin([item])
        second.close()
        // The exit interrupted the item's work. Removing the item after `close` must not reset its crash count.
        second.remove([item])
        let third = WorkJournal(paths: home.paths)
        #expect(third.open(now: now) { _ in "name" }.isEmpty)
        third.begin([item])
        let fourth = WorkJournal(paths: home.paths)
        #expect(fourth.open(now: now) { _ in "name" }.map(\.item) == [item])
        #expect(skipped() == [item] && fourth.record.skippedUntil(item, now: now) == now + 86_400)
        fourth.remove([item])
        #expect(skipped().isEmpty)
    }

    @Test func aShorterBlockOfMarkersReplacesALongerOne() {
        let first = die(under: (1...60).map { WorkItem(kind: .refresh, id: 1_000_000 + $0) })
        first.remove((2...60).map { WorkItem(kind: .refresh, id: 1_000_000 + $0) })
        var found: Set<WorkItem> = []
        _ = WorkJournal(paths: home.paths).open(now: now) {
            found.insert($0)
            return "n"
        }
        #expect(found == [WorkItem(kind: .refresh, id: 1_000_001)])
    }

    @Test(arguments: [
        "", "{", "[{}]", "[{\"item\":{\"kind\":\"refresh\",\"id\":1e99},\"deaths\":2,\"last\":1,\"name\":\"\"}]",
    ])
    func damagedFilesAreIgnored(text: String) throws {
        for path in [home.paths.workMarkers, home.paths.workCrashes] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        let journal = WorkJournal(paths: home.paths)
        #expect(journal.open(now: now) { _ in "n" }.isEmpty && skipped().isEmpty)
    }

    @Test func markersOfAnotherBootDoNotCount() throws {
        die(under: [WorkItem(kind: .sync)])
        die(under: [WorkItem(kind: .sync)])
        let text = try String(contentsOfFile: home.paths.workMarkers, encoding: .utf8)
        let lines = text.split(separator: "\n").dropFirst()
        try Data("another\n\(lines.joined(separator: "\n"))\n".utf8).write(
            to: URL(fileURLWithPath: home.paths.workMarkers))
        #expect(WorkJournal(paths: home.paths).open(now: now) { _ in "n" }.isEmpty)
    }

    @Test func feedsWithACrashAreRefreshedOneByOne() async throws {
        for number in 1...4 { home.publish("Show \(number)", path: "/\(number).xml") }
        let (first, client) = try await home.connect()
        for number in 1...4 { try await client.subscribe(home.web.url("/\(number).xml")) }
        let shows = try first.library.podcasts().map(\.id)
        await first.stop()
        die(under: shows.map { WorkItem(kind: .refresh, id: $0.rawValue) })
        let library = try Library.openForWriting(at: home.paths.library)
        for show in shows { try library.setNextRefresh(podcast: show, 1) }
        let gates = (1...4).map { number in
            let path = "/\(number).xml"
            let feed = FeedBuilder.show("Show \(number)", episodes: 1) { home.web.url(home.media($0, of: path)) }
            let gate = Gate(heldAt: 0)
            home.web.serve(path, Resource(text: feed.text)) { _ in .holdHead(gate) }
            return gate
        }
        let (daemon, watcher) = try await home.connect()
        // While one feed is held, no other is fetched.
        for (index, gate) in gates.enumerated() {
            try await gate.waitUntilReached()
            try await waitUntil(description: "only show \(index + 1) is being refreshed") {
                try await watcher.tasks().map(\.path) == ["Show \(index + 1)"]
            }
            gate.open()
        }
        try await waitUntil(description: "all shows are refreshed") {
            try daemon.library.podcasts().allSatisfy { $0.nextRefresh ?? 0 > now }
        }
        // The journal records the end of the last refresh a moment after the library does.
        try await waitUntil(description: "no item has a crash count") {
            try Data(contentsOf: URL(fileURLWithPath: home.paths.workCrashes)) == Data("[]".utf8)
        }
    }

    @Test func anExchangeThatCrashesTheDaemonIsSkippedUntilACommand() async throws {
        let server = SyncServer()
        try server.start()
        let (first, client) = try await home.connect()
        try await client.perform(
            .syncLogin(SyncLoginRequest(url: server.url, user: "anna", password: "s3cret pass", device: "here")))
        try await client.perform(.syncNow(despiteHold: true))
        await first.stop()
        die(under: [WorkItem(kind: .sync)])
        die(under: [WorkItem(kind: .sync)])
        let (_, second) = try await home.connect()
        let status = try await second.perform(.syncStatus, \.sync)
        #expect(try #require(status.nextSync) >= now + 86_000)
        #expect(skipped() == [WorkItem(kind: .sync)])
        try await second.perform(.syncNow(despiteHold: true))
        #expect(skipped().isEmpty)
    }

    /// Uploads during which a daemon has crashed run one by one. So an upload that stayed in the journal would delay
    /// all later ones.
    @Test func anUploadThatIsCancelledBeforeItStartsIsNotInTheJournal() async throws {
        let gate = Gate(heldAt: 0)
        for number in 1...3 { home.web.serve("/\(number)") { _ in .holdHead(gate) } }
        let uploads = try (1...3).map { try addUpload(to: "/\($0)") }
        die(under: uploads.map { WorkItem.upload($0.id) })
        let (_, client) = try await home.connect()
        try await gate.waitUntilReached()
        #expect(Set(home.web.requests.map(\.path)) == ["/1"])
        try await client.perform(.actOnUploads(.cancel, ids: [uploads[1].id]))
        try await client.perform(.actOnUploads(.suspend, ids: [uploads[0].id]))
        let web = home.web
        try await waitUntil(description: "the last upload starts") { !web.requests(for: "/3").isEmpty }
        #expect(web.requests(for: "/2").isEmpty)
    }

    @Test func anUploadThatCrashesTheDaemonWaitsUntilItIsResumed() async throws {
        let upload = try addUpload(to: "/post")
        die(under: [WorkItem.upload(upload.id)])
        die(under: [WorkItem.upload(upload.id)])
        let (_, client) = try await home.connect()
        let task = try #require(try await client.tasks().first)
        #expect(task.state == .suspended && task.error?.contains("podfs resume upload:\(upload.id)") == true)
        #expect(home.web.requests.isEmpty)
        try await client.perform(.actOnUploads(.resume, ids: [upload.id]))
        try await waitUntil(description: "the upload's request is sent") { !home.web.requests(for: "/post").isEmpty }
        try await waitUntil(description: "the upload is no longer skipped") { skipped().isEmpty }
    }
}
