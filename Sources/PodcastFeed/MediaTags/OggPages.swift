/// The pages of an Ogg file (RFC 3533), of which only the first and the last ones are read.
struct OggPages {
    let media: MediaBytes

    /// The maximum number of bytes that are read at the start of the file: a comment with a cover may be longer, but
    /// its texts come first in practice.
    private static let window = 64 << 10

    /// The first two packets of the first stream: the identification and the comments. The second may be cut.
    var headers: (first: [UInt8]?, second: [UInt8]?) {
        let bytes = media.bytes(at: 0, upTo: Self.window)
        var packets: [[UInt8]] = [[]]
        var serial: ArraySlice<UInt8>?
        var offset = 0
        while offset + 27 <= bytes.count, bytes[offset...].starts(with: "OggS".utf8), packets.count < 3 {
            let table = offset + 27
            let count = Int(bytes[offset + 26])
            guard table + count <= bytes.count else { break }
            let isOwn = serial.map { $0.elementsEqual(bytes[offset + 14..<offset + 18]) } ?? true
            serial = serial ?? bytes[offset + 14..<offset + 18]
            var start = table + count
            // A packet ends with the first segment of fewer than 255 bytes.
            for length in bytes[table..<table + count].map(Int.init) {
                if isOwn, packets.count < 3 {
                    packets[packets.count - 1] += bytes[min(start, bytes.count)..<min(start + length, bytes.count)]
                    if length < 255 { packets.append([]) }
                }
                start += length
            }
            offset = start
        }
        let filled = packets.filter { !$0.isEmpty }
        return (filled.first, filled.dropFirst().first)
    }

    /// The granule position of the last page, which counts samples from the start; `nil` if no page is found.
    var lastPosition: UInt64? {
        let count = Int(min(Int64(Self.window), media.size))
        let bytes = media.bytes(at: media.size - Int64(count), upTo: count)
        let pattern = Array("OggS".utf8)
        var offset = bytes.count - 27
        while offset >= 0 {
            if bytes[offset] == pattern[0], bytes[offset...].starts(with: pattern) {
                let position = bytes[offset + 6..<offset + 14].reversed().bigEndian
                // No packet ends on a page of position -1.
                if position != .max { return position }
            }
            offset -= 1
        }
        return nil
    }
}
