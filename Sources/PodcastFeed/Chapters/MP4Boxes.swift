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

    /// Returns the entries of a table, `width` bytes each. They follow the version and flags, `skipping` bytes of other
    /// fields, and the number of entries.
    func table(_ range: Range<Int64>, skipping: Int64 = 0, width: Int) -> [[UInt8]] {
        guard let head = bytes(range, at: 4 + skipping, count: 4) else { return [] }
        let count = Int(min(head.bigEndian, UInt64(Self.tableLimit)))
        guard let all = bytes(range, at: 8 + skipping, count: count * width) else { return [] }
        return (0..<count).map { Array(all[$0 * width..<($0 + 1) * width]) }
    }
}
