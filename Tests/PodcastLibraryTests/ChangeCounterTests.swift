import PodcastLibrary
import Testing

struct ChangeCounterTests {
    @Test func everyWriteChangesTheCounterForWriterAndReaders() throws {
        let folder = try TemporaryFolder()
        let writer = try Library.openForWriting(at: folder.library)
        let podcast = try writer.subscribe([makeItem("One", url: "https://e.com/1.mp3")]).podcast.id
        let episode = try #require(try writer.episodes(of: podcast).first).id
        let reader = try Library.openForReading(at: folder.library)
        var seen = (writer: try writer.changeCounter(), reader: try reader.changeCounter())
        for now in 1...3 as ClosedRange<Int64> {
            #expect(try writer.changeCounter() == seen.writer && reader.changeCounter() == seen.reader)
            // Reading does not count as a change, on either connection.
            _ = try (writer.episodes(of: podcast), reader.episodes(of: podcast), reader.podcasts())
            #expect(try writer.changeCounter() == seen.writer && reader.changeCounter() == seen.reader)
            try writer.confirm(episode: episode, size: now, now: now)
            let changed = (writer: try writer.changeCounter(), reader: try reader.changeCounter())
            #expect(changed.writer != seen.writer && changed.reader != seen.reader)
            seen = changed
        }
    }
}
