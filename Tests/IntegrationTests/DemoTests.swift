import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import podfs

@Suite struct DemoTests {
    private struct WAV {
        let bytes: [UInt8]

        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        func number(_ range: Range<Int>) -> Int { bytes[range].reversed().reduce(0) { $0 << 8 | Int($1) } }
    }

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func curl(_ arguments: String...) async throws -> ChildProcess.Result {
        try await ChildProcess.run("curl", ["-sS", "--noproxy", "*"] + arguments)
    }

    @Test func audioIsAWAVFileOfTheAnnouncedSize() throws {
        let audio = try #require(DemoShow.all.first?.episodes.first).audio
        let wav = WAV(bytes: audio.render())
        #expect(wav.bytes.count == audio.size)
        #expect(wav.text(0..<4) == "RIFF" && wav.text(8..<16) == "WAVEfmt " && wav.text(36..<40) == "data")
        #expect(wav.number(4..<8) == audio.size - 8 && wav.number(40..<44) == audio.size - 44)
        #expect(wav.number(20..<22) == 1 && wav.number(22..<24) == 1 && wav.number(24..<28) == 22_050)
    }

    @Test func feedsAreWellFormedAndTheirLengthsAreTrue() async throws {
        let server = try await DemoServer(folder: directory.path)
        let base = server.base
        #expect(base.hasPrefix("http://127.0.0.1:"))
        for show in DemoShow.all {
            let feed = try await curl(base + show.feedPath)
            #expect(XMLParser(data: Data(feed.standardOutput)).parse())
            let enclosures = feed.output.matches(of: #/<enclosure url="(?<url>[^"]+)" length="(?<length>\d+)"/#)
            #expect(enclosures.count == show.episodes.count)
            for (episode, enclosure) in zip(show.episodes.reversed(), enclosures) {
                let head = try await curl("-I", String(enclosure.url))
                #expect(head.output.hasPrefix("HTTP/1.1 200 "))
                #expect(head.output.contains("Content-Length: \(episode.audio.size)\r\n"))
                #expect(Int(enclosure.length) == episode.audio.size)
                let transcript = try await curl(base + show.transcriptPath(episode)).output
                #expect(transcript.hasPrefix("WEBVTT\n\n00:00:00.000 --> "))
                let chapters = try await curl(base + show.chaptersPath(episode))
                #expect(try JSONSerialization.jsonObject(with: Data(chapters.standardOutput)) is [String: Any])
            }
        }
        await server.stop()
        #expect(try await curl(base).exitCode == 7, "CURLE_COULDNT_CONNECT")
    }
}
