import Testing

@testable import PodcastFeed

@Suite struct LeadingTagsTests {
    /// Returns an ID3v2 tag with `size` bytes of content.
    private static func tag(_ size: Int, version: UInt8 = 3, footer: Bool = false) -> [UInt8] {
        header(size, version: version, footer: footer) + Array(repeating: 1, count: size)
            + (footer ? Array("3DI".utf8) + header(size, version: version, footer: footer).dropFirst(3) : [])
    }

    private static func header(_ size: Int, version: UInt8 = 3, footer: Bool = false) -> [UInt8] {
        Array("ID3".utf8) + [version, 0, footer ? 0x10 : 0] + [21, 14, 7, 0].map { UInt8(size >> $0 & 0x7F) }
    }

    private static let audio: [UInt8] = [0xFF, 0xFB, 0x90, 0x64] + Array(repeating: 0, count: 400)

    private struct Outcome: Equatable {
        var step: LeadingTags.Step
        var reads: Int
    }

    private static func run(_ file: [UInt8], total: Int64? = nil) -> Outcome {
        var search = LeadingTags(total: total ?? Int64(file.count))
        var reads = 0
        while case .read(let range) = search.step {
            reads += 1
            let start = min(Int(clamping: range.lowerBound), file.count)
            search.receive(Array(file[start..<min(Int(clamping: range.upperBound), file.count)]))
        }
        return Outcome(step: search.step, reads: reads)
    }

    @Test func theAudioStartsAfterAllTags() {
        #expect(Self.run(Self.audio) == Outcome(step: .audio(at: 0), reads: 1))
        #expect(Self.run(Self.tag(300) + Self.audio) == Outcome(step: .audio(at: 310), reads: 2))
        #expect(
            Self.run(Self.tag(300, version: 4, footer: true) + Self.audio) == Outcome(step: .audio(at: 320), reads: 2))
        // The footer's flag exists in version 2.4 only.
        #expect(
            Self.run(Self.header(300, footer: true) + Array(repeating: 1, count: 300) + Self.audio).step
                == .audio(at: 310)
        )
        let repeated = Self.tag(50) + Self.tag(1_000, version: 4) + Self.tag(0, version: 2)
        #expect(Self.run(repeated + Self.audio) == Outcome(step: .audio(at: Int64(repeated.count)), reads: 4))
        // Zeros or other bytes after a tag belong to the audio.
        #expect(Self.run(Self.tag(10) + Array(repeating: 0, count: 90) + Self.audio).step == .audio(at: 20))
    }

    @Test func otherFilesAreReportedAsOther() {
        let files: [[UInt8]] = [
            Array("OggS".utf8), [0, 0, 0, 0x20] + Array("ftypM4A ".utf8), Array("fLaC".utf8),
            Array("RIFF0000WAVE".utf8), Array("Just some text, no audio at all.".utf8), [],
        ]
        for file in files {
            let padded = file.isEmpty ? [] : file + Array(repeating: 0x61, count: 100)
            #expect(Self.run(padded).step == .other, "\(file)")
        }
        // A tag that fills the file, and a tag that claims to be larger than the file.
        #expect(Self.run(Self.tag(300)).step == .other)
        #expect(Self.run(Self.header(1 << 27) + Self.audio).step == .other)
        // The size is invalid, so nothing is skipped.
        #expect(
            Self.run(Array("ID3".utf8) + [3, 0, 0, 0x80, 0, 0, 1] + Array(repeating: 0x41, count: 90)).step
                == .audio(at: 0))
    }

    /// The largest tag has nearly 256 MiB; a file may have several.
    @Test func aHugeTagCostsOneRead() {
        let size = (1 << 28) - 1
        #expect(
            Self.run(Self.header(size) + Self.audio, total: 1 << 30)
                == Outcome(step: .audio(at: Int64(size) + 10), reads: 1))
        // An endless sequence of tags.
        var search = LeadingTags(total: nil)
        var reads = 0
        while case .read(let range) = search.step, reads < 10_000 {
            reads += 1
            search.receive(Array(Self.header(1_000) + Array(repeating: 0, count: range.count)))
        }
        #expect(reads < 1_100 && search.step != .other)
    }
}
