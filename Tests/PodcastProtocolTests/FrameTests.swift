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

    @Test func aFrameIsDecodedOnlyWhenComplete() throws {
        var decoder = FrameDecoder()
        let bytes = frames[0].bytes
        for byte in bytes.dropLast() {
            withUnsafeBytes(of: byte) { decoder.append($0) }
            #expect(try decoder.next() == nil)
        }
        withUnsafeBytes(of: bytes[bytes.count - 1]) { decoder.append($0) }
        #expect(try decoder.next() == frames[0])
        #expect(try decoder.next() == nil)
    }

    @Test func manyFramesAtOnceComeOutOneByOne() throws {
        let many = (0..<20_000).map { Frame(kind: .close, number: UInt32($0), payload: [1, 2, 3]) }
        #expect(try decode(many.flatMap(\.bytes), inPiecesOf: 1 << 20) == many)
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
