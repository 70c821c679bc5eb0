/// Chapters of an MP4 file: a text track that a `chap` reference names (QuickTime), otherwise a `chpl` list (Nero).
///
/// ISO/IEC 14496-12 defines the boxes. Their contents are read only where needed.
struct MP4Chapters {
    private let media: MediaBytes

    /// The maximum number of boxes that are read in one container.
    private static let boxLimit = 1_000
    /// The maximum number of entries that are read from a table.
    private static let tableLimit = 20_000
    /// The maximum number of bytes that are read from a text sample.
    private static let titleLimit = 4 << 10

    private struct Box {
        var name: ArraySlice<UInt8>
        var body: Range<Int64>
    }

    static func chapters(of media: MediaBytes) -> [Chapter] { MP4Chapters(media: media).chapters }

    private var chapters: [Chapter] {
        guard let movie = child("moov", of: 0..<media.size) else { return [] }
        let track = trackChapters(of: movie)
        return track.isEmpty ? listedChapters(of: movie) : track
    }

    // MARK: Boxes

    private func boxes(in range: Range<Int64>) -> [Box] {
        var boxes: [Box] = []
        var offset = range.lowerBound
        while offset + 8 <= range.upperBound, boxes.count < Self.boxLimit,
            let head = media.bytes(at: offset, count: 8)
        {
            var size = head[..<4].bigEndian
            var start = offset + 8
            if size == 1 {
                guard let long = media.bytes(at: start, count: 8) else { break }
                size = long.bigEndian
                start += 8
            } else if size == 0 {
                size = UInt64(range.upperBound - offset)
            }
            guard size >= UInt64(start - offset), size <= UInt64(range.upperBound - offset) else { break }
            let end = offset + Int64(size)
            boxes.append(Box(name: head[4...], body: start..<end))
            offset = end
        }
        return boxes
    }

    /// Returns the body of the first box at a path such as `mdia/hdlr`; `nil` if there is none.
    private func child(_ path: String, of range: Range<Int64>) -> Range<Int64>? {
        var range = range
        for name in path.split(separator: "/") {
            guard let box = boxes(in: range).first(where: { $0.name.elementsEqual(name.utf8) }) else { return nil }
            range = box.body
        }
        return range
    }

    /// Returns `count` bytes at an offset in a box; `nil` if they are not all inside it.
    private func bytes(_ range: Range<Int64>, at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, range.lowerBound + offset + Int64(count) <= range.upperBound else { return nil }
        return media.bytes(at: range.lowerBound + offset, count: count)
    }

    /// Returns the entries of a table, `width` bytes each. They follow the version and flags, `skipping` bytes of other
    /// fields, and the number of entries.
    private func table(_ range: Range<Int64>, skipping: Int64 = 0, width: Int) -> [[UInt8]] {
        guard let head = bytes(range, at: 4 + skipping, count: 4) else { return [] }
        let count = Int(min(head.bigEndian, UInt64(Self.tableLimit)))
        guard let all = bytes(range, at: 8 + skipping, count: count * width) else { return [] }
        return (0..<count).map { Array(all[$0 * width..<($0 + 1) * width]) }
    }

    // MARK: A chapter track

    private func trackChapters(of movie: Range<Int64>) -> [Chapter] {
        let tracks = boxes(in: movie).filter { $0.name.elementsEqual("trak".utf8) }.map(\.body)
        var wanted: Set<UInt64> = []
        for track in tracks {
            guard let references = child("tref/chap", of: track) else { continue }
            let count = Int(min((references.upperBound - references.lowerBound) / 4, 16))
            for index in 0..<count {
                if let id = bytes(references, at: Int64(index) * 4, count: 4) { wanted.insert(id.bigEndian) }
            }
        }
        for track in tracks {
            guard let header = child("tkhd", of: track), let version = bytes(header, at: 0, count: 1),
                let id = bytes(header, at: version == [1] ? 20 : 12, count: 4), wanted.contains(id.bigEndian)
            else { continue }
            // The reference may also name a track of pictures.
            let found = samples(of: track)
            if found.contains(where: { $0.title != nil }) { return found }
        }
        return []
    }

    /// Returns the samples of a text track; empty for other tracks.
    private func samples(of track: Range<Int64>) -> [Chapter] {
        guard let handler = child("mdia/hdlr", of: track), bytes(handler, at: 8, count: 4) == Array("text".utf8),
            let header = child("mdia/mdhd", of: track), let version = bytes(header, at: 0, count: 1),
            let scale = bytes(header, at: version == [1] ? 20 : 12, count: 4)?.bigEndian, scale > 0,
            let tables = child("mdia/minf/stbl", of: track), let times = child("stts", of: tables),
            let sizes = child("stsz", of: tables), let chunks = child("stsc", of: tables)
        else { return [] }
        let chunkOffsets =
            child("stco", of: tables).map { table($0, width: 4) } ?? child("co64", of: tables).map {
                table($0, width: 8)
            } ?? []
        let starts = starts(times, scale: Double(scale))
        let ranges = sampleRanges(
            chunkOffsets.map(\.bigEndian), chunks: table(chunks, width: 12),
            sizes: sampleSizes(sizes, count: starts.count))
        return zip(starts, ranges).map { start, range in Chapter(start: start, title: title(at: range)) }
    }

    /// Returns the start of each sample in seconds, from the table `stts` of sample durations.
    private func starts(_ range: Range<Int64>, scale: Double) -> [Double] {
        var starts: [Double] = []
        var time = 0.0
        for entry in table(range, width: 8) {
            for _ in 0..<min(Int(entry[..<4].bigEndian), EmbeddedChapters.maxCount - starts.count) {
                starts.append(time / scale)
                time += Double(entry[4...].bigEndian)
            }
        }
        return starts
    }

    private func sampleSizes(_ range: Range<Int64>, count: Int) -> [UInt64] {
        guard let common = bytes(range, at: 4, count: 4)?.bigEndian else { return [] }
        if common > 0 { return Array(repeating: common, count: count) }
        return table(range, skipping: 4, width: 4).prefix(count).map(\.bigEndian)
    }

    /// Returns the byte range of each sample in the file, from the offsets of the chunks and the table `stsc` of the
    /// number of samples in each chunk.
    private func sampleRanges(_ chunks: [UInt64], chunks runs: [[UInt8]], sizes: [UInt64]) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        var run = 0
        for (index, chunk) in chunks.enumerated() {
            while run + 1 < runs.count, runs[run + 1][..<4].bigEndian <= UInt64(index + 1) { run += 1 }
            guard run < runs.count else { break }
            var offset = chunk
            for _ in 0..<min(Int(runs[run][4..<8].bigEndian), sizes.count - ranges.count) {
                let (end, isTooLarge) = offset.addingReportingOverflow(sizes[ranges.count])
                guard !isTooLarge, end <= UInt64(media.size) else { return ranges }
                ranges.append(offset..<end)
                offset = end
            }
        }
        return ranges
    }

    /// Reads a text sample: two bytes for the length, then UTF-8, or UTF-16 with a byte order mark.
    private func title(at range: Range<UInt64>) -> String? {
        let count = min(Int(range.upperBound - range.lowerBound), Self.titleLimit)
        guard count >= 2, let sample = media.bytes(at: Int64(range.lowerBound), count: count) else { return nil }
        let text = sample.dropFirst(2).prefix(Int(sample[..<2].bigEndian))
        let isUTF16 = text.starts(with: [0xFE, 0xFF]) || text.starts(with: [0xFF, 0xFE])
        return ID3Text.line(text, encoding: isUTF16 ? 1 : 3)
    }

    // MARK: A chapter list

    /// Reads `moov/udta/chpl`: version and flags, in version 1 four reserved bytes, a count of one byte, and for each
    /// chapter its start in units of 100 nanoseconds, the length of the title, and the title.
    private func listedChapters(of movie: Range<Int64>) -> [Chapter] {
        // A list has at most 255 chapters, of at most 264 bytes each.
        guard let list = child("udta/chpl", of: movie),
            let all = media.bytes(
                at: list.lowerBound, count: Int(min(list.upperBound - list.lowerBound, 256 * 300))),
            all.count > 9
        else { return [] }
        var index = all[0] == 0 ? 4 : 8
        let count = Int(all[index])
        index += 1
        var chapters: [Chapter] = []
        while chapters.count < count, index + 9 <= all.count {
            let start = Double(all[index..<index + 8].bigEndian) / 10_000_000
            let length = Int(all[index + 8])
            guard index + 9 + length <= all.count, start < 1e9 else { break }
            chapters.append(
                Chapter(start: start, title: ID3Text.line(all[index + 9..<index + 9 + length], encoding: 3)))
            index += 9 + length
        }
        return chapters
    }
}
