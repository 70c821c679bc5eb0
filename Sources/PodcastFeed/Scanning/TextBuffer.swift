/// The text of an element being collected, in memory reused from one element to the next.
///
/// Text arrives in pieces, split at each reference such as `&lt;`. In escaped HTML most pieces have only a few bytes,
/// for which an array's uniqueness check at each append is expensive.
struct TextBuffer: ~Copyable {
    private var memory: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    /// The initial capacity in bytes.
    private static let usualCapacity = 1 << 14
    /// The maximum capacity in bytes that is retained for the next element; few elements need more.
    private static let keptCapacity = 1 << 16

    init() {
        memory = .allocate(capacity: Self.usualCapacity)
    }

    deinit {
        memory.deallocate()
    }

    /// The collected text. The pointer is valid until the next change of the buffer.
    var contents: FeedBytes { FeedBytes(rebasing: memory[..<count]) }

    mutating func append(_ byte: UInt8) {
        if count == memory.count { grow(by: 1) }
        memory[count] = byte
        count += 1
    }

    mutating func append(_ piece: FeedBytes) {
        guard let source = piece.baseAddress else { return }
        if piece.count > memory.count - count { grow(by: piece.count) }
        guard let target = memory.baseAddress else { return }
        (target + count).update(from: source, count: piece.count)
        count += piece.count
    }

    mutating func append(_ text: some Sequence<UInt8>) {
        for byte in text { append(byte) }
    }

    mutating func removeAll() {
        count = 0
        guard memory.count > Self.keptCapacity else { return }
        memory.deallocate()
        memory = .allocate(capacity: Self.usualCapacity)
    }

    private mutating func grow(by more: Int) {
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(2 * memory.count, count + more))
        _ = larger.update(fromContentsOf: contents)
        memory.deallocate()
        memory = larger
    }
}
