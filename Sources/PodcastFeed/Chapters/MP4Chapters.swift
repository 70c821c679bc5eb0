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
            guard let header = file.child("tkhd", of: track), let version = file.bytes(header, at: 0, count: 1),
                let id = file.bytes(header, at: version == [1] ? 20 : 12, count: 4), wanted.contains(id.bigEndian)
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
            let header = file.child("mdia/mdhd", of: track), let version = file.bytes(header, at: 0, count: 1),
            let scale = file.bytes(header, at: version == [1] ? 20 : 12, count: 4)?.bigEndian, scale > 0,
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
