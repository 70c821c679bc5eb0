internal import Foundation
package import Transfers

/// One message on the socket: a length, a kind, the number of its request, and a payload.
///
/// Wire format: payload length (4 bytes, little-endian), kind (1), number (4), payload. The payloads of `open`, `read`
/// and `grant` have a fixed binary format, that of `cancel` is empty; all others are JSON.
package struct Frame: Sendable, Equatable {
    /// The kind of a frame. The raw values are part of the wire format.
    package enum Kind: UInt8, CaseIterable, Sendable {
        // From clients.
        case hello = 1
        case command = 2
        case open = 3
        case read = 4
        case cancel = 5
        /// Reports that an episode was closed; the payload is its id. Has no response.
        case close = 6
        /// Reports that an episode was opened without a request to the daemon; the payload is its id. Has no response.
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

    mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard bytes.count >= size else { return nil }
        defer { bytes = bytes.dropFirst(size) }
        return bytes.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(as: type)) }
    }

    mutating func uint8() -> UInt8? { integer(UInt8.self) }
    mutating func uint32() -> UInt32? { integer(UInt32.self) }
    mutating func int64() -> Int64? { integer(Int64.self) }

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

/// A mount's request for bytes of an episode that, as far as the mount knows, are not cached yet; or its request to
/// open the episode, of which only `episode` and `kind` count.
package struct ReadRequest: Sendable, Equatable {
    package var episode: EpisodeID
    package var generation: Int
    package var range: Range<Int64>
    /// Whether the response may contain `Grant.head`. The daemon fills it only if its bytes include `range` and there
    /// is no cache file yet.
    package var takesHead: Bool
    package var kind: ReaderKind

    package init(
        episode: EpisodeID, generation: Int = 0, range: Range<Int64> = 0..<0, takesHead: Bool = false,
        kind: ReaderKind = .player
    ) {
        self.episode = episode
        self.generation = generation
        self.range = range
        self.takesHead = takesHead
        self.kind = kind
    }

    package var payload: [UInt8] {
        var writer = WireWriter()
        writer.append(episode.rawValue)
        writer.append(Int64(generation))
        writer.append(range.lowerBound)
        writer.append(range.upperBound)
        writer.append(UInt8((takesHead ? 1 : 0) | (kind == .probe ? 2 : 0)))
        return writer.bytes
    }

    /// Decodes a payload; `nil` if it is malformed.
    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let episode = reader.int64(), let generation = reader.int64(), let from = reader.int64(),
            let to = reader.int64(), from >= 0, from <= to, let flags = reader.uint8()
        else { return nil }
        self.init(
            episode: EpisodeID(episode), generation: Int(generation), range: from..<to, takesHead: flags & 1 != 0,
            kind: flags & 2 != 0 ? .probe : .player)
    }
}

/// The response to an open or a read: the rendition, its cache file, and the ranges that may be read.
///
/// A rendition is an episode's bytes as defined by one server response. `generation` tells it from earlier ones.
package struct Grant: Sendable, Equatable {
    package var generation: Int
    /// The size in bytes; `nil` if no server has confirmed it.
    package var total: Int64?
    /// The name of the cache file; `nil` if there is none yet.
    package var file: String?
    package var present: ByteRanges
    /// The first bytes of the rendition, if they have arrived before the cache file exists; otherwise empty. The mount
    /// can answer a read of them without waiting for the file. Sent only in responses to opens, and to reads with
    /// `takesHead` whose range is in these bytes.
    package var head: [UInt8]

    package init(generation: Int, total: Int64?, file: String?, present: ByteRanges, head: [UInt8] = []) {
        self.generation = generation
        self.total = total
        self.file = file
        self.present = present
        self.head = head
    }

    package var payload: [UInt8] {
        let ranges = present.ranges
        var writer = WireWriter(capacity: 64 + 16 * ranges.count + head.count)
        writer.append(Int64(generation))
        writer.append(total ?? -1)
        writer.append(file ?? "")
        writer.append(UInt32(ranges.count))
        for range in ranges {
            writer.append(range.lowerBound)
            writer.append(range.upperBound)
        }
        writer.append(head)
        return writer.bytes
    }

    /// Decodes a payload; `nil` if it is malformed.
    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let generation = reader.int64(), let total = reader.int64(), let file = reader.text(),
            let count = reader.uint32()
        else { return nil }
        var present = ByteRanges()
        for _ in 0..<count {
            guard let from = reader.int64(), let to = reader.int64(), from >= 0, from <= to else { return nil }
            present.insert(contentsOf: from..<to)
        }
        guard let head = reader.data() else { return nil }
        self.init(
            generation: Int(generation), total: total < 0 ? nil : total, file: file.isEmpty ? nil : file,
            present: present, head: head)
    }
}

/// The failure of a request.
package struct Failure: Error, Sendable, Codable, Equatable, CustomStringConvertible {
    /// The category, which determines the exit code of the command line.
    package enum Kind: UInt8, Sendable, Codable {
        case failed = 1
        case usage = 64
        case refused = 77
    }

    package var kind: Kind
    /// The errno for the reading program; 0 if none is suitable.
    package var errorNumber: Int32
    /// One line: the error and its remedy.
    package var message: String

    package init(kind: Kind = .failed, errorNumber: Int32 = 0, message: String) {
        self.kind = kind
        self.errorNumber = errorNumber
        self.message = message
    }

    package var description: String { message }
}
