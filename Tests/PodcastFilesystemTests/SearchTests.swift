import Foundation
import Fuse
import Glibc
import PodcastFeed
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem
@testable import PodcastLibrary

struct SearchTests {
    private static let episode = "2026-01-01 Episode 1.mp3"

    /// A fake daemon whose searches all return the same shows, and a mount connected to it.
    private struct Found {
        let mounted: Mounted
        let daemon: FakeDaemon
        let ids: [ShowID]

        /// - Parameters:
        ///   - titles: The shows returned by every search.
        ///   - fetch: Called when the mount asks the daemon to fetch the feed of a show.
        init(_ titles: [String], fetch: (@Sendable (ShowID, Library) throws -> Void)? = nil) async throws {
            let mounted = try Mounted()
            let library = mounted.library
            let folders = try mounted.library.store(
                found: titles.map { FoundShow(title: $0, url: "http://127.0.0.1:9/\($0).xml") }, now: 1_700_000_000)
            ids = folders.map(\.podcast)
            daemon = try FakeDaemon(mounted.paths) { daemon, frame in
                switch frame.kind == .command ? WireJSON.decode(Command.self, frame.payload) : nil {
                case .searchFolder: daemon.answer(frame, .foundFolders(folders))
                case .fetchShow(let podcast):
                    do {
                        try fetch?(podcast, library)
                        daemon.answer(frame, .done)
                    } catch {
                        daemon.answer(frame, error as? Failure ?? Failure(message: "\(error)"))
                    }
                default: break
                }
            }
            self.mounted = mounted
            try await mounted.connect()
        }
    }

    /// Adds episodes to a found show, as the daemon does.
    private static func list(_ count: Int, in podcast: ShowID, _ library: Library, now: Int64 = Int64(time(nil))) throws
    {
        let url = "http://127.0.0.1:9/\(podcast).xml"
        let builder = FeedBuilder.show("Fetched", episodes: count, length: 500_000) { "http://127.0.0.1:9/\($0).mp3" }
        let feed = try FeedParser.parse(Array(builder.text.utf8), contentType: "application/rss+xml", base: url)
        _ = try library.merge(
            feed: feed, into: podcast, response: FeedResponse(finalURL: url, status: 200), template: .standard,
            now: now)
    }

    private func names(_ node: NodeID, _ mounted: Mounted) async throws -> [String] {
        let handle = try await mounted.request { mounted.filesystem.opendir($0, node: node) }.handle()
        return try #require(mounted.list(node, handle)).dropFirst(2).map(\.name)
    }

    // MARK: Without the daemon

    @Test func theFolderListsNothingAndEveryNameInItIsAFolder() throws {
        // No daemon runs, and none is started.
        let mounted = try Mounted(script: "touch \"$0.started\"")
        let search = try mounted.entry(".search")
        #expect(search.node == NodeNumber.search.node && search.attributes.permissions == 0o555)
        #expect(search.attributes.kind == .directory && mounted.attributes(search.node) == search.attributes)
        let entries = try #require(mounted.list(search.node, try mounted.opendir(search.node)))
        #expect(entries.map(\.name) == [".", ".."] && entries.map(\.inode) == [search.node.rawValue, 0x8000_0001])
        // Names that Swift considers equal are two folders to the kernel.
        #expect(try mounted.entry(".search", "Caf\u{E9}").node != mounted.entry(".search", "Cafe\u{301}").node)
        for name in ["tide", "high tide", "Übung", "a\nb", String(repeating: "x", count: 255)] {
            let term = try mounted.entry(".search", name)
            #expect(term.attributes.kind == .directory && term.attributes.inode == term.node.rawValue)
            #expect(mounted.attributes(term.node) == term.attributes)
            #expect(mounted.xattrNames(term.node) == [] && mounted.fact(term.node, "user.podfs.id") == nil)
            #expect(try mounted.entry(".search", name).node == term.node)
            #expect(mounted.lookup("Show", in: term.node) == .error(.noSuchFileOrDirectory))
            #expect(mounted.open(term.node).answer == .error(.isDirectory))
        }
        for name in [".hidden", ".git", ".", "..", ""] {
            #expect(mounted.lookup(name, in: search.node) == .error(.noSuchFileOrDirectory), "\(name)")
        }
        #expect(!mounted.link.isConnected && !mounted.wasStarted)
    }

    @Test func numbersDoNotCollideAndAreBounded() throws {
        var terms = SearchTerms<FoundFolder>()
        var numbers: [Int: String] = [:]
        var dropped = 0
        for index in 0..<5_000 {
            let found = terms.lookUp("term \(index)")
            let number = try #require(found.number)
            dropped += found.dropped.count
            #expect(numbers.updateValue("term \(index)", forKey: number) == nil)
        }
        // The kernel knows all terms, so none is removed. Beyond the capacity, older ones are returned to invalidate.
        #expect(terms.count == 5_000)
        #expect(numbers.allSatisfy { terms.name(of: $0.key) == $0.value })
        #expect(dropped >= 4_000)
        for number in numbers.keys { terms.forget(number, count: 1) }
        for index in 0..<5_000 {
            let found = terms.lookUp("new \(index)")
            terms.forget(try #require(found.number), count: 1)
        }
        // The new terms have replaced those that the kernel has forgotten.
        #expect(terms.count <= SearchTerms<FoundFolder>.capacity)
        #expect(!numbers.keys.contains { terms.name(of: $0) == numbers[$0] })
        let last = terms.lookUp("new 4999")
        #expect(last.dropped == [])
    }

    @Test func aForgottenTermMakesRoomAtTheLimit() throws {
        var terms = SearchTerms<FoundFolder>(limit: SearchTerms<FoundFolder>.capacity + 1)
        var numbers: [Int] = []
        for index in 0...SearchTerms<FoundFolder>.capacity {
            let found = terms.lookUp("term \(index)")
            numbers.append(try #require(found.number))
        }
        let refused = terms.lookUp("one more")
        #expect(refused.number == nil)
        terms.forget(numbers[5], count: 1)
        let found = terms.lookUp("one more")
        #expect(found.number != nil && terms.name(of: numbers[5]) == nil)
        let again = terms.lookUp("another")
        #expect(again.number == nil)
    }

    @Test func theOldestSearchTermIsInvalidatedAtTheLimit() throws {
        let mounted = try Mounted()
        mounted.start()
        for index in 0...SearchTerms<FoundFolder>.capacity { _ = try mounted.entry(".search", "term \(index)") }
        #expect(mounted.notifier.messages.contains(.entry(parent: NodeNumber.search.node, name: "term 0")))
    }

    // MARK: With the daemon

    @Test func openingATermSearchesAndListsTheShows() async throws {
        let found = try await Found(["One", "Two"])
        let mounted = found.mounted
        let term = try mounted.entry(".search", "high tide").node
        #expect(found.daemon.commands.isEmpty)
        let handle = try await mounted.request { mounted.filesystem.opendir($0, node: term) }.handle()
        #expect(found.daemon.commands == [.searchFolder(term: "high tide")])
        let entries = try #require(mounted.list(term, handle))
        #expect(entries.map(\.name) == [".", "..", "One", "Two"])
        #expect(entries[0].inode == term.rawValue && entries[1].inode == NodeNumber.search.inode)
        let number = try #require(NodeNumber(term))
        for (entry, id) in zip(entries.dropFirst(2), found.ids) {
            #expect(
                entry.node == NodeNumber(kind: .foundShow, generation: Int(number.row), row: id).node
                    && entry.kind == .directory)
            let looked = try mounted.entry(".search", "high tide", entry.name)
            #expect(looked.node == entry.node && looked.attributes.inode == entry.inode)
            #expect(mounted.fact(looked.node, "user.dublincore.title") == entry.name)
            #expect(mounted.fact(looked.node, "user.xdg.origin.url") == "http://127.0.0.1:9/\(entry.name).xml")
        }
        #expect(mounted.lookup("Three", in: term) == .error(.noSuchFileOrDirectory))
        // Another term finds the same show. The show's folder below that term is another node with the same inode
        // number. The root has no folder for the show.
        let other = try mounted.entry(".search", "tide").node
        #expect(try await names(other, mounted) == ["One", "Two"])
        let (one, again) = (
            try mounted.entry(".search", "high tide", "One"), try mounted.entry(".search", "tide", "One")
        )
        #expect(one.node != again.node && one.attributes.inode == again.attributes.inode)
        #expect(mounted.lookup("One") == .error(.noSuchFileOrDirectory))
        #expect(found.daemon.commands.count == 2)
    }

    @Test func openingAShowFetchesItsFeedOnce() async throws {
        let found = try await Found(["One"]) { podcast, library in try Self.list(3, in: podcast, library) }
        let mounted = found.mounted
        let term = try mounted.entry(".search", "tide").node
        #expect(try await names(term, mounted) == ["One"])
        let show = try mounted.entry(".search", "tide", "One").node
        #expect(mounted.lookup(Self.episode, in: show) == .error(.noSuchFileOrDirectory))
        let expected = [1, 2, 3].map { "2026-01-0\($0) Episode \($0).mp3" }
        #expect(try await names(show, mounted) == expected)
        #expect(try await names(show, mounted) == expected)
        #expect(found.daemon.commands == [.searchFolder(term: "tide"), .fetchShow(podcast: found.ids[0])])
        let episode = try mounted.entry(".search", "tide", "One", Self.episode)
        #expect(NodeNumber(episode.node)?.kind == .episode && episode.attributes.size == 500_000)
        // rewinddir(3) sends no request to the daemon.
        let handle = try await mounted.request { mounted.filesystem.opendir($0, node: show) }.handle()
        #expect(mounted.list(show, handle)?.count == 5 && mounted.list(show, handle, from: 0)?.count == 5)
        let parent = try #require(mounted.list(show, handle)?[1])
        #expect(parent.inode == term.rawValue)
        #expect(found.daemon.commands.count == 2)
    }

    @Test func everyOpenOfAnUnsubscribedEpisodeIsSentToTheDaemon() async throws {
        let found = try await Found(["One"])
        let mounted = found.mounted
        try Self.list(1, in: found.ids[0], mounted.library)
        let row = try #require(try mounted.library.episodes(of: found.ids[0]).first)
        let content = TestContent(seed: 1, size: 300_000)
        // The daemon removes the file after the last close, so it must also know of opens of complete episodes.
        let file = try mounted.store(content, of: row)
        let node = NodeNumber(kind: .episode, generation: 1, row: row.id).node
        let reply = mounted.open(node)
        let frame = try #require(try await found.daemon.wait(for: .open).first)
        #expect(reply.answer == nil && ReadRequest(payload: frame.payload)?.episode == row.id)
        found.daemon.answer(frame, mounted.grant(file, content))
        let handle = try await reply.handle()
        let read = mounted.read(node, handle, 0, 4_096)
        found.daemon.answer(try #require(try await found.daemon.wait(for: .read).first), mounted.grant(file, content))
        #expect(try await read.answered() == .bytes(content.bytes(in: 0..<4_096)))
        mounted.release(node, handle)
        try await found.daemon.wait(for: .close)
        // When the mount sends the close, it no longer holds a lease on the file.
        #expect(try mounted.evicts(file.name))
    }

    @Test(arguments: [ETIMEDOUT, EHOSTUNREACH, EIO, EINVAL] as [Int32])
    func aFailureIsTheAnswerToTheOpening(number: Int32) async throws {
        let mounted = try Mounted()
        let daemon = try await mounted.daemon { daemon, frame in
            guard frame.kind == .command else { return }
            daemon.answer(frame, Failure(errorNumber: number, message: "no"))
        }
        let term = try mounted.entry(".search", "tide").node
        let reply = mounted.request { mounted.filesystem.opendir($0, node: term) }
        #expect(try await reply.answered() == .error(Errno(rawValue: number)))
        let row = try mounted.library.store(found: [FoundShow(title: "One", url: "http://e/")], now: 1)
        let show = NodeNumber(kind: .foundShow, generation: 1, row: row[0].podcast).node
        let second = mounted.request { mounted.filesystem.opendir($0, node: show) }
        #expect(try await second.answered() == .error(Errno(rawValue: number)))
        #expect(daemon.commands.count == 2)
    }

    @Test func aHangingSearchIsInterruptibleAndBlocksNoOtherRequest() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let daemon = try await mounted.daemon()
        let term = try mounted.entry(".search", "tide").node
        let replies = (0..<50).map { _ in mounted.request { mounted.filesystem.opendir($0, node: term) } }
        try await daemon.wait(for: .command, count: 50)
        // Other requests are still served.
        #expect(mounted.attributes(term) != nil)
        #expect(try mounted.opendir(try mounted.entry("Show").node).rawValue > 0)
        for reply in replies.dropLast() {
            reply.interrupt()
            #expect(try await reply.answered() == .error(.interrupted))
        }
        try await daemon.wait(for: .cancel, count: 49)
        // Unmounting answers the remaining requests.
        mounted.filesystem.stop()
        #expect(try await #require(replies.last).answered() == .error(.ioError))
    }

    @Test func aPathIsValidAfterARestart() async throws {
        let mounted = try Mounted()
        let row = try mounted.library.store(found: [FoundShow(title: "One", url: "http://e/")], now: 1)[0]
        try Self.list(1, in: row.podcast, mounted.library)
        // No daemon runs, and the term was not opened in this mount.
        let show = try mounted.entry(".search", "tide", "One")
        #expect(show.entryTimeout == 0 && NodeNumber(show.node)?.row == row.podcast.rawValue)
        #expect(try mounted.entry(".search", "tide", "One", Self.episode).attributes.size == 500_000)
        #expect(mounted.lookup("Two", in: try mounted.entry(".search", "tide").node) == .error(.noSuchFileOrDirectory))
    }

    @Test func aPurgedShowIsStale() async throws {
        let found = try await Found(["One"])
        let mounted = found.mounted
        let term = try mounted.entry(".search", "tide").node
        #expect(try await names(term, mounted) == ["One"])
        let show = try mounted.entry(".search", "tide", "One").node
        _ = try mounted.library.purgeEphemeral(before: .max)
        #expect(mounted.attributes(show) == nil)
        #expect(mounted.lookup("One", in: term) == .error(.noSuchFileOrDirectory))
        let reply = mounted.request { mounted.filesystem.opendir($0, node: show) }
        #expect(reply.answer == .error(.staleNFSFileHandle))
        #expect(try await names(term, mounted) == [])
        for node in [NodeNumber(kind: .term, row: 5).node, NodeNumber(kind: .search, row: 2).node] {
            let reply = mounted.request { mounted.filesystem.getattr($0, node: node, handle: nil) }
            #expect(reply.answer == .error(.staleNFSFileHandle))
        }
    }

    @Test func changesOfAnEpisodeAreInvalidatedInAllItsFolders() async throws {
        let found = try await Found(["One"])
        let mounted = found.mounted
        try Self.list(1, in: found.ids[0], mounted.library)
        let row = try #require(try mounted.library.episodes(of: found.ids[0]).first)
        for name in ["tide", "high tide"] {
            #expect(try await names(try mounted.entry(".search", name).node, mounted) == ["One"])
        }
        try mounted.library.dropRendition(episode: row.id, now: 1_700_000_009)
        mounted.notifier.clear()
        let event = Event(sequence: 1, time: 1, .episode(row.id, formerName: nil))
        found.daemon.send(event)
        for name in ["tide", "high tide"] {
            let parent = try mounted.entry(".search", name, "One").node
            try await waitUntil(description: "the name under \(name) is invalidated") {
                mounted.notifier.messages.contains(.entry(parent: parent, name: Self.episode))
            }
        }
    }

    @Test func theControlAttributeFetchesAgainAndActsOnTheEpisodes() async throws {
        let found = try await Found(["One"])
        let mounted = found.mounted
        try Self.list(2, in: found.ids[0], mounted.library)
        let show = try mounted.entry(".search", "tide", "One").node
        #expect(try await mounted.setxattr(show, "user.podfs.task", "refresh").answered() == .done)
        #expect(found.daemon.commands == [.fetchShow(podcast: found.ids[0])])
        let term = try mounted.entry(".search", "tide").node
        #expect(mounted.setxattr(term, "user.podfs.task", "refresh").answer == .error(.invalidArgument))
        #expect(mounted.setxattr(show, "user.podfs.task", "resume", uid: 5).answer == .error(.notPermitted))
        let reply = mounted.setxattr(show, "user.podfs.task", "pin")
        try await waitUntil(description: "the command arrives") { found.daemon.commands.count == 2 }
        let episodes = try mounted.library.episodes(of: found.ids[0]).map(\.id)
        #expect(found.daemon.commands.last == .act(.pin, episodes: episodes))
        #expect(reply.answer == nil)
    }
}
