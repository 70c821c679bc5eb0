/// Generated media of a given size that need no memory, because any range can be computed.
///
/// Two contents with different seeds differ in nearly every byte after the first ten. The first ten are an empty ID3v2
/// tag header (if the size allows it), so that code which examines the first bytes recognizes an MP3 file.
package struct TestContent: Sendable, Hashable {
    package let seed: UInt64
    package let size: Int

    package init(seed: UInt64, size: Int) {
        self.seed = seed
        self.size = size
    }

    /// "ID3", version 2.4.0, no flags, a tag size of zero (ID3v2.4 §3.1).
    private static let prefix: [UInt8] = [0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 0]

    /// The minimum size of a content with the prefix. The prefix would be a large part of a shorter content.
    private static let smallestWithPrefix = 32

    /// Returns the bytes of `range`, clamped to the content.
    package func bytes(in range: Range<Int>) -> [UInt8] {
        let range = range.clamped(to: 0..<size)
        guard !range.isEmpty else { return [] }
        let firstWord = range.lowerBound / 8
        let lastWord = (range.upperBound - 1) / 8
        let words = [UInt64](unsafeUninitializedCapacity: lastWord - firstWord + 1) { buffer, count in
            for index in buffer.indices {
                buffer[index] = word(UInt64(firstWord + index)).littleEndian
            }
            count = buffer.count
        }
        let start = range.lowerBound - firstWord * 8
        var bytes = words.withUnsafeBytes { Array($0[start..<start + range.count]) }
        if size >= Self.smallestWithPrefix {
            for position in range.clamped(to: 0..<Self.prefix.count) {
                bytes[position - range.lowerBound] = Self.prefix[position]
            }
        }
        return bytes
    }

    /// All bytes. For contents that fit into memory.
    package var bytes: [UInt8] { bytes(in: 0..<size) }

    /// Whether `bytes` are the content at `offset`. Bytes beyond the end do not match.
    package func matches(_ bytes: some Sequence<UInt8>, at offset: Int = 0) -> Bool {
        let bytes = Array(bytes)
        guard offset >= 0, offset + bytes.count <= size else { return false }
        return bytes == self.bytes(in: offset..<offset + bytes.count)
    }

    /// Whether `bytes` are the whole content.
    package func equals(_ bytes: [UInt8]) -> Bool { bytes.count == size && matches(bytes) }

    /// Returns the word at `index`: a hash of `seed` and `index` by SplitMix64 (Steele, Lea, Flood 2014).
    @inline(__always)
    private func word(_ index: UInt64) -> UInt64 {
        var z = (seed &+ 1) &* 0xD1B5_4A32_D192_ED03 &+ index &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
