package import Transfers

/// A mount's request for bytes of an episode that, as far as the mount knows, are not cached yet.
package struct ReadRequest: Sendable, Equatable {
    package var episode: EpisodeID
    package var generation: Int
    package var range: Range<Int64>
    /// Whether the response may contain `Grant.head`. The daemon fills it only if its bytes include `range` and there
    /// is no cache file yet.
    package var takesHead: Bool
    package var kind: ReaderKind

    package init(
        episode: EpisodeID, generation: Int, range: Range<Int64>, takesHead: Bool = false, kind: ReaderKind = .player
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

/// A request to open an episode.
package struct OpenRequest: Sendable, Equatable {
    package var episode: EpisodeID
    package var kind: ReaderKind

    package init(episode: EpisodeID, kind: ReaderKind) {
        self.episode = episode
        self.kind = kind
    }

    package var payload: [UInt8] {
        var writer = WireWriter()
        writer.append(episode.rawValue)
        writer.append(UInt8(kind == .probe ? 1 : 0))
        return writer.bytes
    }

    /// Decodes a payload; `nil` if it is malformed.
    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let episode = reader.int64(), let kind = reader.uint8() else { return nil }
        self.init(episode: EpisodeID(episode), kind: kind == 1 ? .probe : .player)
    }
}

// The payload of a `close` or `opened` frame. `opened` reports an open for which the mount has sent no `OpenRequest`.
extension EpisodeID {
    package var payload: [UInt8] {
        var writer = WireWriter()
        writer.append(rawValue)
        return writer.bytes
    }

    /// Decodes a payload; `nil` if it is malformed.
    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let number = reader.int64() else { return nil }
        self.init(number)
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
package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The category, which determines the exit code of the command line.
    package enum Kind: UInt8, Sendable {
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

    package var payload: [UInt8] {
        var writer = WireWriter()
        writer.append(kind.rawValue)
        writer.append(UInt32(bitPattern: errorNumber))
        writer.append(message)
        return writer.bytes
    }

    /// Decodes a payload; `nil` if it is malformed.
    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let raw = reader.uint8(), let kind = Kind(rawValue: raw), let number = reader.uint32(),
            let message = reader.text()
        else { return nil }
        self.init(kind: kind, errorNumber: Int32(bitPattern: number), message: message)
    }
}
