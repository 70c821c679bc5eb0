/// Random access to the bytes of a media file.
package struct MediaBytes {
    /// The size in bytes.
    package let size: Int64
    /// Reads the bytes at an offset; fewer than requested at the end of the file or after an error.
    private let source: (_ offset: Int64, _ count: Int) -> [UInt8]

    package init(size: Int64, source: @escaping (_ offset: Int64, _ count: Int) -> [UInt8]) {
        self.size = size
        self.source = source
    }

    init(_ bytes: [UInt8]) {
        self.init(size: Int64(bytes.count)) { offset, count in
            Array(bytes[min(Int(offset), bytes.count)..<min(Int(offset) + count, bytes.count)])
        }
    }

    /// Returns `count` bytes at an offset; `nil` if not all of them exist.
    func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, Int64(count) <= size, offset <= size - Int64(count) else { return nil }
        let bytes = source(offset, count)
        return bytes.count == count ? bytes : nil
    }

    /// Returns up to `count` bytes at an offset, fewer at the end of the file; empty after an error.
    func bytes(at offset: Int64, upTo count: Int) -> [UInt8] {
        bytes(at: offset, count: Int(max(0, min(Int64(count), size - offset)))) ?? []
    }

    /// Returns the first `count` bytes, fewer if the file is shorter; empty after an error.
    package func beginning(upTo count: Int) -> [UInt8] { bytes(at: 0, upTo: count) }
}

extension Collection<UInt8> {
    /// The bytes, at most eight, as an unsigned big-endian number.
    var bigEndian: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}
