internal import Glibc

/// Bytes in memory that is reused. They are appended at the end and removed from the beginning.
///
/// Text arrives in pieces, split at each reference such as `&lt;`. In escaped HTML most pieces have only a few bytes,
/// for which an array's uniqueness check at each append is expensive.
struct ByteBuffer: ~Copyable {
    private var memory: UnsafeMutableBufferPointer<UInt8>
    private var start = 0
    private var end = 0

    init(capacity: Int) { memory = .allocate(capacity: capacity) }

    deinit { memory.deallocate() }

    var count: Int { end - start }

    /// The bytes, valid until the next change of the buffer.
    var contents: FeedBytes { FeedBytes(rebasing: memory[start..<end]) }

    mutating func append(_ byte: UInt8) {
        if end == memory.count { reserve(1) }
        memory[end] = byte
        end += 1
    }

    mutating func append(_ bytes: FeedBytes) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        guard let target = memory.baseAddress else { return }
        memcpy(target + end, source, bytes.count)
        end += bytes.count
    }

    mutating func append(_ text: some Sequence<UInt8>) {
        for byte in text { append(byte) }
    }

    /// Removes the first bytes.
    mutating func drop(_ count: Int) { start += count }

    /// Removes all bytes, and memory beyond `capacity`.
    mutating func removeAll(keeping capacity: Int) {
        (start, end) = (0, 0)
        guard memory.count > capacity else { return }
        memory.deallocate()
        memory = .allocate(capacity: capacity)
    }

    /// Reserves memory for `more` bytes, so that appending them does not move the contents.
    mutating func reserve(_ more: Int) {
        guard end + more > memory.count, let old = memory.baseAddress else { return }
        let count = count
        if count + more > memory.count {
            let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(2 * memory.count, count + more))
            _ = larger.update(fromContentsOf: memory[start..<end])
            memory.deallocate()
            memory = larger
        } else {
            memmove(old, old + start, count)
        }
        (start, end) = (0, count)
    }
}
