import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

/// Replies to opendir that let the kernel cache a folder's names. `DirectoryCacheTests` tests the decision whether the
/// kernel may cache them.
struct KeptListingTests {
    private let mounted: Mounted
    private let podcast: Podcast
    private let show: NodeID

    init() throws {
        mounted = try Mounted()
        podcast = try mounted.subscribe(episodes: 20)
        show = try mounted.entry("Show").node
    }

    private func open(_ node: NodeID, refusing: Bool = false) throws -> OpenReply {
        let reply = mounted.request(refusing: refusing) { mounted.filesystem.opendir($0, node: node) }
        guard case .open(let open)? = reply.answer else { throw Mounted.MissingEntry(name: "\(node)") }
        return open
    }

    private func close(_ node: NodeID, _ open: OpenReply) {
        mounted.request { mounted.filesystem.releasedir($0, node: node, handle: open.handle) }
    }

    /// Lists a folder from start to end.
    @discardableResult
    private func list(_ node: NodeID, _ open: OpenReply) throws -> [String] {
        let names = try #require(mounted.list(node, open.handle))
        let end = try #require(names.last?.nextOffset)
        #expect(mounted.list(node, open.handle, from: end) == [])
        return names.map(\.name)
    }

    private func rename() throws { try mounted.library.renameEpisode(id: try mounted.episode(3).id, to: "Renamed") }

    @Test func unchangedListingsStayCached() throws {
        let notes = try mounted.entry("Show", ".notes").node
        for folder in [show, notes] {
            let first = try open(folder)
            #expect(first.cacheReaddir && !first.keepCache)
            try list(folder, first)
            close(folder, first)
        }
        for folder in [show, notes, show] {
            let again = try open(folder)
            #expect(again.cacheReaddir && again.keepCache)
            close(folder, again)
        }
        try rename()
        for folder in [show, notes] {
            let changed = try open(folder)
            #expect(changed.cacheReaddir && !changed.keepCache)
        }
        // Folders computed from more than one show's rows are never cached.
        for folder in [NodeID.root, try mounted.entry("Latest").node] { #expect(try !open(folder).cacheReaddir) }
    }

    @Test func aRejectedOpenClearsNothing() throws {
        _ = try open(show, refusing: true)
        let first = try open(show)
        #expect(first.cacheReaddir && !first.keepCache)
    }

    @Test func aForgottenFolderIsListedAnew() throws {
        close(show, try open(show))
        mounted.filesystem.forget(node: show, count: 1)
        #expect(try !open(show).keepCache)
    }

    @Test func invalidatedAttributesAreSentAgain() async throws {
        let daemon = try await mounted.daemon()
        let now = Int64(time(nil))
        try mounted.refresh(
            podcast, .show("Show", episodes: 20, length: 400_000) { "http://127.0.0.1:9/Show/\($0).mp3" }, now: now)
        mounted.notifier.hold()
        let event = Event(sequence: 1, time: now, .show(podcast.id, name: nil, formerName: nil))
        daemon.send(event)
        try await waitUntil { mounted.notifier.messages.contains(.attributes(.root)) }
        // The kernel is about to drop the attributes of all episodes. This listing is complete before that.
        let first = try open(show)
        try list(show, first)
        close(show, first)
        let early = try open(show)
        #expect(early.keepCache)
        close(show, early)
        mounted.notifier.letGo()
        let late = try open(show)
        #expect(late.cacheReaddir && !late.keepCache)
        try list(show, late)
        close(show, late)
        #expect(try open(show).keepCache)
    }

    /// As an NFS server does, which may also have removed names in between.
    @Test func aListingContinuesInAnotherStreamAfterChanges() throws {
        let begin = try mounted.opendir(show)
        let before = try #require(mounted.list(show, begin))
        let gone = try #require(before.firstIndex { $0.name.contains("Episode 12.") })
        mounted.request { mounted.filesystem.releasedir($0, node: show, handle: begin) }
        _ = try mounted.library.bury(
            episodes: [try mounted.episode(12).id, try mounted.episode(15).id], now: 1_700_000_100)
        try mounted.refresh(
            podcast, .show("Show", episodes: 25, length: 500_000) { "http://127.0.0.1:9/Show/\($0).mp3" })
        let now = try #require(mounted.list(show, try mounted.opendir(show)))
        let rest = try #require(mounted.list(show, try mounted.opendir(show), from: before[gone].nextOffset))
        let listed = before[...gone].map(\.name) + rest.map(\.name)
        #expect(Set(listed).count == listed.count)
        #expect(Set(now.map(\.name)).isSubset(of: listed))
    }

    @Test func aChangeClearsTheKernelsCacheOfAnOpenFolder() async throws {
        let daemon = try await mounted.daemon()
        let (read, unread) = (try open(show), try mounted.opendir(.root))
        let before = try list(show, read)
        try rename()
        let event = Event(sequence: 1, time: 1_700_000_100, .show(podcast.id, name: nil, formerName: nil))
        daemon.send(event)
        try await waitUntil { mounted.notifier.messages.contains(.data(show)) }
        #expect(!mounted.notifier.messages.contains(.data(.root)))
        #expect(try list(show, read) != before)
        mounted.request { mounted.filesystem.releasedir($0, node: .root, handle: unread) }
    }

    @Test func aStreamThatEndsWithOldNamesDropsTheCache() async throws {
        let daemon = try await mounted.daemon()
        let stream = try open(show)
        let begin = try #require(mounted.list(show, stream.handle, size: 1_000))
        try rename()
        let event = Event(sequence: 1, time: 1_700_000_100, .show(podcast.id, name: nil, formerName: nil))
        daemon.send(event)
        try await waitUntil { mounted.notifier.messages.contains(.attributes(.root)) }
        // The stream is still filling the kernel's cache.
        #expect(!mounted.notifier.messages.contains(.data(show)))
        let middle = try #require(begin.last?.nextOffset)
        let rest = try #require(mounted.list(show, stream.handle, from: middle))
        #expect(!mounted.notifier.messages.contains(.data(show)))
        let end = try #require(rest.last?.nextOffset)
        #expect(mounted.list(show, stream.handle, from: end) == [])
        #expect(mounted.notifier.messages.contains(.data(show)))
    }
}
