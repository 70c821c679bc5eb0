import TestSupport
import Testing

@testable import PodcastFeed

/// The errors for documents that are not feeds, which name the kind of the document.
struct FileSignatureTests {
    private func error(_ bytes: [UInt8], contentType: String? = nil) -> DocumentError.Problem? {
        do {
            _ = try FeedParser.parse(bytes, contentType: contentType)
            return nil
        } catch {
            return (error as? DocumentError)?.problem
        }
    }

    @Test(arguments: [
        ("ID3\u{4}\0\0", "an MP3 file"), ("OggS\0", "an Ogg file"), ("fLaC\0", "a FLAC file"),
        ("RIFF\0\0\0\0WAVE", "a WAV file"), ("\0\0\0\u{18}ftypisom", "an MP4 file"),
        ("\0\0\0\u{18}ftypM4A ", "an M4A file"), ("GIF89a", "a GIF image"), ("%PDF-1.7", "a PDF document"),
        ("PK\u{3}\u{4}", "a ZIP archive"), ("#EXTM3U\n1.mp3\n", "a playlist"), ("WEBVTT\n\n", "a transcript"),
    ]) func aKnownFileIsNamed(beginning: String, name: String) {
        #expect(error(Array(beginning.utf8) + [UInt8](repeating: 0x20, count: 40)) == .file(name))
        #expect(DocumentError(.file(name), expected: .feed).description.hasPrefix("this is \(name), not a feed"))
    }

    @Test func audioFramesAndImagesAreNamed() {
        #expect(error([0xFF, 0xFB, 0x90, 0x64] + [UInt8](repeating: 0x55, count: 900)) == .file("an MP3 file"))
        #expect(error([0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 1, count: 900)) == .file("a JPEG image"))
        #expect(error([0x89, 0x50, 0x4E, 0x47] + [UInt8](repeating: 1, count: 9)) == .file("a PNG image"))
    }

    /// Noise is never reported as XML with an unknown root element, whatever type the server states.
    @Test func noiseIsReportedAsAFile() {
        for seed in 0..<40 {
            let bytes = TestContent(seed: UInt64(seed), size: 9_000).bytes(in: 4_000..<9_000)
            guard case .file? = error(bytes, contentType: "application/rss+xml") else {
                Issue.record("seed \(seed): \(String(describing: error(bytes)))")
                return
            }
            #expect(FileSignature.name(of: Array("<U".utf8) + bytes.prefix(510)) == "binary data", "seed \(seed)")
        }
    }

    @Test func textHasErrorsOfItsOwn() {
        #expect(error(Array("error code: 1020\n".utf8)) == .notXML(beginning: "error code: 1020"))
        #expect(error(Array("<rxx/>".utf8)) == .root("rxx"))
        // Stray bytes of a broken server script before a feed are ignored.
        let feed = "<rss version='2.0'><channel><title>T</title></channel></rss>"
        #expect(error([0x1F, 0x8B] + Array(feed.utf8)) == nil)
    }

    @Test func anImageIsNotAListOfSubscriptions() {
        let bytes = [0x89, 0x50, 0x4E, 0x47] + [UInt8](repeating: 1, count: 9)
        #expect(throws: DocumentError(.file("a PNG image"), expected: .subscriptions)) { try OPML.parse(bytes) }
    }
}
