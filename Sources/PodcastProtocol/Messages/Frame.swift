internal import Foundation

/// One message on the socket: a length, a kind, the number of its request, and a payload.
///
/// Wire format: payload length (4 bytes, little-endian), kind (1), number (4), payload. The payloads of `open`, `read`,
/// `close`, `opened`, `grant` and `failure` have a fixed binary format, that of `cancel` is empty; all others are JSON.
package struct Frame: Sendable, Equatable {
    /// The kind of a frame. The raw values are part of the wire format.
    package enum Kind: UInt8, CaseIterable, Sendable {
        // From clients.
        case hello = 1
        case command = 2
        case open = 3
        case read = 4
        case cancel = 5
        case close = 6
        /// Reports that an episode was opened without a request to the daemon. Has no response.
        case opened = 7
        // From the daemon.
        case welcome = 65
        case reply = 66
        case grant = 67
        case failure = 68
        case event = 69
    }

    package var kind: Kind
    /// The number that the client has chosen for a request. The response to the request and a `cancel` of it repeat the
    /// number. 0 in all other frames.
    package var number: UInt32
    package var payload: [UInt8]

    package static let headerSize = 9
    /// The maximum size of a payload in bytes; the largest are the list of all tasks and an inspected feed.
    package static let maxPayloadSize = 128 << 20

    package init(kind: Kind, number: UInt32, payload: [UInt8] = []) {
        self.kind = kind
        self.number = number
        self.payload = payload
    }

    package var bytes: [UInt8] {
        var writer = WireWriter(capacity: Self.headerSize + payload.count)
        writer.append(UInt32(payload.count))
        writer.append(kind.rawValue)
        writer.append(number)
        writer.bytes += payload
        return writer.bytes
    }
}

/// A parser of frames in a stream of bytes.
package struct FrameDecoder: Sendable {
    /// A violation of the wire format.
    package struct Malformed: Error, CustomStringConvertible {
        package var description: String { "the peer does not use podfs's protocol" }
    }

    private var buffer: [UInt8] = []
    /// The index in `buffer` of the first byte that no returned frame includes.
    private var start = 0

    package init() {}

    /// Appends received bytes.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) { buffer.append(contentsOf: bytes) }

    /// Returns the next complete frame; `nil` if more bytes are needed. Throws `Malformed`.
    package mutating func next() throws -> Frame? {
        guard buffer.count - start >= Frame.headerSize else { return nil }
        var reader = WireReader(buffer[start..<(start + Frame.headerSize)])
        guard let length = reader.uint32(), let kindByte = reader.uint8(), let number = reader.uint32(),
            let kind = Frame.Kind(rawValue: kindByte), length <= UInt32(Frame.maxPayloadSize)
        else { throw Malformed() }
        let end = start + Frame.headerSize + Int(length)
        guard buffer.count >= end else { return nil }
        let payload = Array(buffer[(start + Frame.headerSize)..<end])
        start = end
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 20)
            start = 0
        } else if start > 1 << 16 {
            buffer.removeFirst(start)
            start = 0
        }
        return Frame(kind: kind, number: number, payload: payload)
    }
}

/// A writer of little-endian integers, and of text and bytes with their length.
struct WireWriter {
    var bytes: [UInt8] = []

    init(capacity: Int = 64) { bytes.reserveCapacity(capacity) }

    mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ text: String) {
        append(UInt32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(_ data: [UInt8]) {
        append(UInt32(data.count))
        bytes += data
    }
}

/// A reader of the values that ``WireWriter`` writes. Each method returns `nil` if too few bytes are left.
struct WireReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard bytes.count >= size else { return nil }
        var value: Value = 0
        for (index, byte) in bytes.prefix(size).enumerated() { value |= Value(byte) << Value(8 * index) }
        bytes = bytes.dropFirst(size)
        return value
    }

    mutating func uint8() -> UInt8? { integer(UInt8.self) }
    mutating func uint32() -> UInt32? { integer(UInt32.self) }
    mutating func int64() -> Int64? { integer(UInt64.self).map { Int64(bitPattern: $0) } }

    mutating func text() -> String? { counted().map { String(decoding: $0, as: UTF8.self) } }
    mutating func data() -> [UInt8]? { counted().map { Array($0) } }

    /// Reads a length in 4 bytes, and returns that number of bytes.
    private mutating func counted() -> ArraySlice<UInt8>? {
        guard let count = uint32(), bytes.count >= Int(count) else { return nil }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return bytes.prefix(Int(count))
    }
}

/// The encoding of JSON payloads.
package enum WireJSON {
    /// Encodes a message.
    package static func encode<Value: Encodable>(_ value: Value) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // The messages are plain values with finite numbers and text keys, so encoding cannot fail.
        guard let data = try? encoder.encode(value) else { return Array("null".utf8) }
        return [UInt8](data)
    }

    /// Decodes a message; `nil` if it is malformed.
    package static func decode<Value: Decodable>(_ type: Value.Type, _ payload: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(payload))
    }
}
