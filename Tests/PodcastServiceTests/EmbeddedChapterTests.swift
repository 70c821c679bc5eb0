import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing

/// Chapters inside media files, which the daemon reads when a download is complete.
@Suite(.stopsDaemons) struct EmbeddedChapterTests {
    private let home = ServiceHome()

    init() throws {
        home.publish(episodes: 2)
        let title = Array("\u{3}Inside".utf8)
        let part = Array("TIT2".utf8) + [0, 0, 0, UInt8(title.count), 0, 0] + title
        let chapter = [0x61, 0] + [0, 0, 0x3A, 0x98, 0, 0, 0x4E, 0x20] + [UInt8](repeating: 0xFF, count: 8) + part
        let frame = Array("CHAP".utf8) + [0, 0, 0, UInt8(chapter.count), 0, 0] + chapter
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(frame.count)] + frame
        home.web.serve(home.media(1), Resource(body: .bytes(tag + home.content(1).bytes), etag: "\"tagged\""))
    }

    @Test func theyAreStoredWithTheRendition() async throws {
        let (daemon, client) = try await home.subscribe()
        let ids = try (1...2).map { try daemon.episode($0).id }
        for id in ids {
            try await client.download(id)
        }
        try await waitUntil(description: "both files are read") {
            try daemon.library.renditionsWithUnreadChapters().isEmpty
        }
        #expect(try daemon.library.extras(of: ids[0]).chapters == [Chapter(start: 15, title: "Inside")])
        #expect(try daemon.library.entry(id: ids[0])?.sidecars.contains(.chapters) == true)
        #expect(try daemon.library.entry(id: ids[1])?.sidecars.contains(.chapters) == false)
        // The event by which mounts notice the new file comes after that of the completion.
        try await client.event("the chapters are reported") { event in
            let completed = client.events.entries.first { $0.kind == .completed && $0.episode == ids[0] }
            return event.kind == .library && event.episode == ids[0]
                && completed.map { event.sequence > $0.sequence } ?? false
        }
        try await client.act(.evict, ids[0])
        #expect(try daemon.library.extras(of: ids[0]).chapters.isEmpty)
        #expect(try daemon.library.entry(id: ids[0])?.sidecars.contains(.chapters) == false)
    }

    /// A daemon that was killed between a completion and the reading reads the file at its next start.
    @Test func aFileThatWasNotReadIsReadAtTheNextStart() async throws {
        let (first, client, id) = try await home.subscribeToEpisode()
        try await client.download(id)
        try await waitUntil(description: "the file is read") {
            try first.library.renditionsWithUnreadChapters().isEmpty
        }
        let rendition = try #require(try first.library.rendition(of: id))
        await first.stop()
        // Storing the rendition again forgets its chapters.
        try Library.openForWriting(at: home.paths.library).pin(rendition, now: 1)
        let second = try await home.start()
        try await waitUntil(description: "the file is read again") {
            try second.library.extras(of: id).chapters.map(\.title) == ["Inside"]
        }
    }
}
