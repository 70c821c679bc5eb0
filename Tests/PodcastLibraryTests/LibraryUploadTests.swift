import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

struct LibraryUploadTests {
    private var (folder, library) = makeLibrary()

    private func add(_ number: Int, _ change: (inout Upload) -> Void = { _ in }) throws -> Upload {
        var upload = Upload(
            url: "https://e.com/videos", title: "Title \(number)",
            media: SnapshotFile(file: "file-\(number)", name: "a.mp4", type: "video/mp4"), size: 1_000,
            idempotencyKey: "key-\(number)", created: 5)
        change(&upload)
        return try library.add(upload)
    }

    @Test func uploadsAreStoredUntilTheirRemoval() throws {
        let upload = try add(1) {
            $0.description = "Text"
            $0.image = SnapshotFile(file: "image-1", name: "a.jpg", type: "image/jpeg")
        }
        let plain = try add(2)
        #expect(try library.uploads() == [upload, plain])
        #expect(try library.upload(id: upload.id) == upload)
        #expect(try library.upload(file: "file-2") == plain && plain.image == nil)
        #expect(try library.upload(file: "file-3") == nil)
        #expect(throws: LibraryError.self) { try add(3) { $0.media.file = "file-1" } }
        try library.removeUpload(id: plain.id, keeping: Event(sequence: 7, time: 2, .idle))
        #expect(try library.uploads() == [upload] && library.events(since: 0).map(\.sequence) == [7])
    }

    @Test func uploadsAndDownloadsShareOneSequenceOfIds() throws {
        let podcast = try library.subscribe([
            makeItem("One", url: "https://e.com/1.mp3"), makeItem("Two", url: "https://e.com/2.mp3"),
        ]).podcast.id
        let episodes = try library.episodes(of: podcast).map(\.id)
        let first = try add(1)
        let second = try library.enqueue(episode: episodes[0], session: "s", now: 1)
        let third = try add(2)
        let fourth = try library.enqueue(episode: episodes[1], session: "s", now: 1)
        #expect([first.id, second.id, third.id, fourth.id] == [1, 2, 3, 4])
        // The id of a removed upload is not reused.
        try library.removeUpload(id: third.id, keeping: nil)
        #expect(try add(3).id == 5)
    }

    @Test func progressAndFailureOfAnUploadAreStored() throws {
        let id = try add(1).id
        let progress = UploadResumeData(step: .posted, location: "https://e.com/1", speaksTus: true, offset: 77)
        try library.update(upload: id) { $0.progress = progress }
        try library.update(upload: id, keeping: Event(sequence: 1, time: 2, .idle)) { $0.error = "broken" }
        let reopened = try #require(try Library.openForReading(at: folder.library).upload(id: id))
        #expect(reopened.progress == progress && reopened.error == "broken" && !reopened.suspended)
        #expect(try library.events(since: 0).count == 1)
    }
}
