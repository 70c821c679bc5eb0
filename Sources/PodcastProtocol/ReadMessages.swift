package import TransferCore

/// A reader needs bytes of an episode that the mount does not know to be present.
package struct ReadRequest: Sendable, Equatable {
    package var episode: EpisodeID
    package var generation: Int
    package var range: Range<Int64>
    /// The first bytes alone will do, if there is no file yet.
    package var takesHead: Bool

    package init(episode: EpisodeID, generation: Int, range: Range<Int64>, takesHead: Bool = false) {
        self.episode = episode
        self.generation = generation
        self.range = range
        self.takesHead = takesHead
    }

    package var payload: [UInt8] {
        var writer = WireWriter()
        writer.append(episode.rawValue)
        writer.append(Int64(generation))
        writer.append(range.lowerBound)
        writer.append(range.upperBound)
        writer.append(UInt8(takesHead ? 1 : 0))
        return writer.bytes
    }

    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let episode = reader.int64(), let generation = reader.int64(), let from = reader.int64(),
            let to = reader.int64(), from >= 0, from <= to, let takesHead = reader.uint8()
        else { return nil }
        self.init(episode: EpisodeID(episode), generation: Int(generation), range: from..<to, takesHead: takesHead != 0)
    }
}

/// Names an episode that was opened or closed.
package struct EpisodeReference: Sendable, Equatable {
    package var episode: EpisodeID

    package init(episode: EpisodeID) { self.episode = episode }

    package var payload: [UInt8] {
        var writer = WireWriter()
        writer.append(episode.rawValue)
        return writer.bytes
    }

    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let episode = reader.int64() else { return nil }
        self.episode = EpisodeID(episode)
    }
}

/// The answer to an open or a read: the rendition, its cache file, and what of it may be read.
package struct Grant: Sendable, Equatable {
    package var generation: Int
    /// Bytes; `nil` while no server has said.
    package var total: Int64?
    /// The name of the cache file; `nil` while nothing is stored.
    package var file: String?
    package var present: ByteRanges
    /// The first bytes of the rendition where nothing of it is stored and the server has sent them: a reader of them need not
    /// wait for the file. Answers to opens, and to reads of nothing else.
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

/// Something could not be done.
package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Who can do what about it; the command line's exit codes follow from it.
    package enum Kind: UInt8, Sendable {
        case failed = 1
        case usage = 64
        case refused = 77
    }

    package var kind: Kind
    /// The error number for a reader of the file system; 0 where none fits.
    package var errorNumber: Int32
    /// One line: what went wrong and what to do.
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

    package init?(payload: [UInt8]) {
        var reader = WireReader(payload[...])
        guard let raw = reader.uint8(), let kind = Kind(rawValue: raw), let number = reader.uint32(),
            let message = reader.text()
        else { return nil }
        self.init(kind: kind, errorNumber: Int32(bitPattern: number), message: message)
    }
}
