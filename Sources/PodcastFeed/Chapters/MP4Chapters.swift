/// The boxes of an MP4 file (ISO/IEC 14496-12), read where they are needed.
struct MP4Boxes {
    let media: MediaBytes

    /// The maximum number of boxes that are read in one container.
    private static let boxLimit = 1_000
    /// The maximum number of entries that are read from a table.
    private static let tableLimit = 20_000

    struct Box {
        var name: ArraySlice<UInt8>
        var body: Range<Int64>
    }

    /// The range of the file.
    var whole: Range<Int64> { 0..<media.size }

    /// Whether a box of the file ends after the file's last byte, as in an incomplete download.
    var isTruncated: Bool {
        let end = boxes(in: whole).last?.body.upperBound ?? 0
        guard end < media.size, end + 8 <= media.size, let head = media.bytes(at: end, count: 8) else { return false }
        let size = head[..<4].bigEndian
        return size > 1 && head[4...].allSatisfy { (0x20...0x7E).contains($0) } && size > UInt64(media.size - end)
    }

    /// Returns the boxes in a container, up to the first one that is malformed.
    func boxes(in range: Range<Int64>) -> [Box] {
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
    func child(_ path: String, of range: Range<Int64>) -> Range<Int64>? {
        var range = range
        for name in path.split(separator: "/") {
            guard let box = boxes(in: range).first(where: { $0.name.elementsEqual(name.utf8) }) else { return nil }
            range = box.body
        }
        return range
    }

    /// Returns `count` bytes at an offset in a box; `nil` if they are not all inside it.
    func bytes(_ range: Range<Int64>, at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, range.lowerBound + offset + Int64(count) <= range.upperBound else { return nil }
        return media.bytes(at: range.lowerBound + offset, count: count)
    }

    /// Returns a number of a box, after two times that have 8 bytes each in version 1, and otherwise 4.
    func numberAfterTimes(_ box: Range<Int64>) -> UInt64? {
        bytes(box, at: 0, count: 1).flatMap { bytes(box, at: $0 == [1] ? 20 : 12, count: 4)?.bigEndian }
    }

    /// Returns the entries of a table, `width` bytes each. They follow the version and flags, `skipping` bytes of other
    /// fields, and the number of entries.
    func table(_ range: Range<Int64>, skipping: Int64 = 0, width: Int) -> [[UInt8]] {
        guard let head = bytes(range, at: 4 + skipping, count: 4) else { return [] }
        let count = Int(min(head.bigEndian, UInt64(Self.tableLimit)))
        guard let all = bytes(range, at: 8 + skipping, count: count * width) else { return [] }
        return (0..<count).map { Array(all[$0 * width..<($0 + 1) * width]) }
    }
}

/// Chapters of an MP4 file: a text track that a `chap` reference names (QuickTime), otherwise a `chpl` list (Nero).
struct MP4Chapters {
    private let file: MP4Boxes

    /// The maximum number of bytes that are read from a text sample.
    private static let titleLimit = 4 << 10

    static func chapters(of media: MediaBytes) -> [Chapter] { MP4Chapters(file: MP4Boxes(media: media)).chapters }

    private var chapters: [Chapter] {
        guard let movie = file.child("moov", of: file.whole) else { return [] }
        let track = trackChapters(of: movie)
        return track.isEmpty ? listedChapters(of: movie) : track
    }

    // MARK: A chapter track

    private func trackChapters(of movie: Range<Int64>) -> [Chapter] {
        let tracks = file.boxes(in: movie).filter { $0.name.elementsEqual("trak".utf8) }.map(\.body)
        var wanted: Set<UInt64> = []
        for track in tracks {
            guard let references = file.child("tref/chap", of: track) else { continue }
            let count = Int(min((references.upperBound - references.lowerBound) / 4, 16))
            for index in 0..<count {
                if let id = file.bytes(references, at: Int64(index) * 4, count: 4) { wanted.insert(id.bigEndian) }
            }
        }
        for track in tracks {
            guard let header = file.child("tkhd", of: track), let id = file.numberAfterTimes(header),
                wanted.contains(id)
            else { continue }
            // The reference may also name a track of pictures.
            let found = samples(of: track)
            if found.contains(where: { $0.title != nil }) { return found }
        }
        return []
    }

    /// Returns the samples of a text track; empty for other tracks.
    private func samples(of track: Range<Int64>) -> [Chapter] {
        guard let handler = file.child("mdia/hdlr", of: track),
            file.bytes(handler, at: 8, count: 4) == Array("text".utf8),
            let header = file.child("mdia/mdhd", of: track), let scale = file.numberAfterTimes(header), scale > 0,
            let tables = file.child("mdia/minf/stbl", of: track), let times = file.child("stts", of: tables),
            let sizes = file.child("stsz", of: tables), let chunks = file.child("stsc", of: tables)
        else { return [] }
        let chunkOffsets =
            file.child("stco", of: tables).map { file.table($0, width: 4) } ?? file.child("co64", of: tables).map {
                file.table($0, width: 8)
            } ?? []
        let starts = starts(times, scale: Double(scale))
        let ranges = sampleRanges(
            chunkOffsets.map(\.bigEndian), chunks: file.table(chunks, width: 12),
            sizes: sampleSizes(sizes, count: starts.count))
        return zip(starts, ranges).map { start, range in Chapter(start: start, title: title(at: range)) }
    }

    /// Returns the start of each sample in seconds, from the table `stts` of sample durations.
    private func starts(_ range: Range<Int64>, scale: Double) -> [Double] {
        var starts: [Double] = []
        var time = 0.0
        for entry in file.table(range, width: 8) {
            for _ in 0..<min(Int(entry[..<4].bigEndian), EmbeddedChapters.maxCount - starts.count) {
                starts.append(time / scale)
                time += Double(entry[4...].bigEndian)
            }
        }
        return starts
    }

    private func sampleSizes(_ range: Range<Int64>, count: Int) -> [UInt64] {
        guard let common = file.bytes(range, at: 4, count: 4)?.bigEndian else { return [] }
        if common > 0 { return Array(repeating: common, count: count) }
        return file.table(range, skipping: 4, width: 4).prefix(count).map(\.bigEndian)
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
                guard !isTooLarge, end <= UInt64(file.media.size) else { return ranges }
                ranges.append(offset..<end)
                offset = end
            }
        }
        return ranges
    }

    /// Reads a text sample: two bytes for the length, then UTF-8, or UTF-16 with a byte order mark.
    private func title(at range: Range<UInt64>) -> String? {
        let count = min(Int(range.upperBound - range.lowerBound), Self.titleLimit)
        guard count >= 2, let sample = file.media.bytes(at: Int64(range.lowerBound), count: count) else { return nil }
        let text = sample.dropFirst(2).prefix(Int(sample[..<2].bigEndian))
        let isUTF16 = text.starts(with: [0xFE, 0xFF]) || text.starts(with: [0xFF, 0xFE])
        return ID3Text.line(text, encoding: isUTF16 ? 1 : 3)
    }

    // MARK: A chapter list

    /// Reads `moov/udta/chpl`: version and flags, in version 1 four reserved bytes, a count of one byte, and for each
    /// chapter its start in units of 100 nanoseconds, the length of the title, and the title.
    private func listedChapters(of movie: Range<Int64>) -> [Chapter] {
        // A list has at most 255 chapters, of at most 264 bytes each.
        guard let list = file.child("udta/chpl", of: movie),
            let all = file.media.bytes(
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
