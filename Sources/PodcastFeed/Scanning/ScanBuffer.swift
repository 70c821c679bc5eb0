internal import Glibc

/// The bytes of a document that have arrived and that the scanner has not consumed yet. `append` replaces line breaks
/// of any kind by line feeds (XML 1.0, section 2.11).
struct ScanBuffer: ~Copyable {
    private var memory: UnsafeMutableBufferPointer<UInt8>
    private var start = 0
    private var end = 0
    /// Whether the last byte appended was a carriage return. A line feed that follows belongs to the same line break,
    /// and is dropped.
    private var endsInReturn = false

    init() {
        memory = .allocate(capacity: 1 << 17)
    }

    deinit {
        memory.deallocate()
    }

    /// The contents, valid until bytes are added.
    var contents: FeedBytes { FeedBytes(rebasing: memory[start..<end]) }

    /// Removes the first bytes.
    mutating func drop(_ count: Int) {
        start += count
    }

    mutating func append(_ bytes: FeedBytes) {
        guard let source = bytes.baseAddress else { return }
        makeRoom(for: bytes.count)
        guard let target = memory.baseAddress else { return }
        if !endsInReturn, memchr(source, 0x0D, bytes.count) == nil {
            memcpy(target + end, source, bytes.count)
            end += bytes.count
            return
        }
        for byte in bytes {
            if byte == UInt8(ascii: "\n"), endsInReturn {
                endsInReturn = false
                continue
            }
            endsInReturn = byte == UInt8(ascii: "\r")
            target[end] = endsInReturn ? UInt8(ascii: "\n") : byte
            end += 1
        }
    }

    private mutating func makeRoom(for more: Int) {
        let count = end - start
        if start > 0, let base = memory.baseAddress {
            memmove(base, base + start, count)
            start = 0
            end = count
        }
        guard count + more > memory.count else { return }
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(2 * memory.count, count + more))
        _ = larger.update(fromContentsOf: memory[..<count])
        memory.deallocate()
        memory = larger
    }
}
