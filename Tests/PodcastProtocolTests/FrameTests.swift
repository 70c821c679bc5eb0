import PodcastProtocol
import Testing

@Suite struct FrameTests {
    private let frames = [
        Frame(kind: .hello, number: 1, payload: Array("{}".utf8)), Frame(kind: .read, number: 0xFFFF_FFFF),
        Frame(kind: .event, number: 0, payload: [UInt8](repeating: 0xAB, count: 70_000)),
        Frame(kind: .failure, number: 7, payload: [0]),
    ]

    private func decode(_ bytes: [UInt8], inPiecesOf size: Int) throws -> [Frame] {
        var decoder = FrameDecoder()
        var result: [Frame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { decoder.append($0) }
            while let frame = try decoder.next() { result.append(frame) }
        }
        return result
    }

    @Test func theHeadIsLengthKindAndNumberInLittleEndian() {
        #expect(
            Frame(kind: .grant, number: 0x0102_0304, payload: [9, 8]).bytes
                == [2, 0, 0, 0, 67, 4, 3, 2, 1, 9, 8])
    }

    @Test(arguments: [1, 2, 8, 9, 10, 4_096, 1_000_000])
    func framesAreDecodedInPiecesOfAnySize(size: Int) throws {
        #expect(try decode(frames.flatMap(\.bytes), inPiecesOf: size) == frames)
    }

    @Test(
        arguments: [
            [0, 0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 99, 1, 0, 0, 0], [255, 255, 255, 255, 1, 0, 0, 0, 0],
            [1, 0, 0, 8, 1, 0, 0, 0, 0], Array("GET / HTTP/1.1\r\n".utf8),
        ] as [[UInt8]])
    func malformedBytesAreAnErrorAtTheHead(bytes: [UInt8]) {
        #expect(throws: FrameDecoder.Malformed.self) { try decode(bytes, inPiecesOf: 1) }
    }

    @Test func aFrameBeforeMalformedBytesIsDecoded() throws {
        var decoder = FrameDecoder()
        (frames[3].bytes + [UInt8](repeating: 0xFF, count: 20)).withUnsafeBytes { decoder.append($0) }
        #expect(try decoder.next() == frames[3])
        #expect(throws: FrameDecoder.Malformed.self) { try decoder.next() }
    }
}
