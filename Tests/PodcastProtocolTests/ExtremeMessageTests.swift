import PodcastProtocol
import TestSupport
import Testing

@testable import Transfers

/// Random bytes as frames, and messages with extreme numbers.
@Suite struct ExtremeMessageTests {
    private func bytes(_ numbers: [Int64]) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
    }

    @Test func readsOfExtremeNumbersAreReadOrRefused() {
        for one in ExtremeNumbers.integers {
            for other in ExtremeNumbers.integers {
                let read = ReadRequest(payload: bytes([one, other, one, other]) + [1])
                #expect((read != nil) == (one >= 0 && one <= other))
                if let read { #expect(ReadRequest(payload: read.payload) == read) }
                var grant = bytes([one, other]) + [0, 0, 0, 0, 1, 0, 0, 0]
                grant += bytes([one, other]) + [0, 0, 0, 0]
                let found = Grant(payload: grant)
                #expect((found != nil) == (one >= 0 && one <= other))
                if let found { #expect(found.present.byteCount >= 0 && !found.payload.isEmpty) }
            }
        }
    }

    @Test func randomBytesCrashNothing() throws {
        var dice = SeededGenerator(seed: 3)
        for _ in 0..<5_000 {
            let bytes = (0..<Int.random(in: 0...60, using: &dice)).map { _ in
                Bool.random(using: &dice) ? UInt8.random(in: .min ... .max, using: &dice) : 0xFF
            }
            _ = (ReadRequest(payload: bytes), Grant(payload: bytes))
            var decoder = FrameDecoder()
            bytes.withUnsafeBytes { decoder.append($0) }
            while let frame = try? decoder.next() { #expect(frame.payload.count <= bytes.count) }
        }
    }

    @Test func messagesOfExtremeNumbersAreReadOrRefused() {
        var dice = SeededGenerator(seed: 4)
        var report = TaskInfo(id: 33, state: .running)
        (report.episode, report.generation, report.received, report.expected, report.rate) = (44, 55, 66, 77, 88)
        let event = Event(sequence: 11, time: 22, .progress(report))
        let task = TaskInfo(
            id: 11, kind: .download, path: "p", episode: 22, state: .running, received: 33, expected: 44, rate: 55,
            error: nil, started: 66)
        let resume = ResumeData(key: 11, generation: 22, total: 33, present: "0-1", url: "u")
        let commands: [Command] = [
            .events(since: 11), .acknowledge(through: 22), .setPosition(episode: 33, seconds: 44),
            .search(term: "t", limit: 55), .act(.pin, episodes: [66, 77]), .continueTask(resume),
        ]
        var found = 0
        func spoilt(_ value: some Encodable) -> [UInt8] {
            let text = String(decoding: WireJSON.encode(value), as: UTF8.self)
            return Array(text.replacing(/[1-8][1-8]/) { _ in ExtremeNumbers.json(using: &dice) }.utf8)
        }
        for _ in 0..<400 {
            if WireJSON.decode(Event.self, spoilt(event)) != nil { found += 1 }
            if WireJSON.decode(TaskInfo.self, spoilt(task)) != nil { found += 1 }
            if let data = WireJSON.decode(ResumeData.self, spoilt(resume)) {
                found += 1
                _ = data.fits(generation: 22, validator: nil, total: 5)
            }
            for command in commands where WireJSON.decode(Command.self, spoilt(command)) != nil { found += 1 }
        }
        #expect(found > 100)
    }
}
