/// The buffer of a connection for bytes that curl has delivered and that are not yet written to the file. It has memory
/// once bytes have arrived.
struct ReceiveBuffer: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var count = 0

    /// The size in bytes: large enough to make the cost of write calls negligible. Also the maximum memory of a
    /// response that must wait before its body is used.
    private static let capacity = 256 * 1024

    deinit { memory.deallocate() }

    var isEmpty: Bool { count == 0 }
    var room: Int { Self.capacity - count }

    /// The buffered bytes; valid until the next call of `append` or `removeAll`.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Returns the first buffered bytes, at most `most`; valid as long as `bytes`.
    func prefix(_ most: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<min(count, most)]) }

    /// Appends bytes.
    ///
    /// - Parameter new: At most `room` bytes.
    mutating func append(_ new: UnsafeRawBufferPointer) {
        if memory.isEmpty { memory = .allocate(byteCount: Self.capacity, alignment: 64) }
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + new.count]).copyMemory(from: new)
        count += new.count
    }

    mutating func removeAll() { count = 0 }
}
