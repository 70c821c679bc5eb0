/// The buffer of a connection between curl and the file.
final class ReceiveBuffer {
    private let memory: UnsafeMutableRawBufferPointer
    private var count = 0

    /// The buffer's size: large enough to make the cost of calls negligible, and the limit of a held response's memory.
    private static let capacity = 256 * 1024

    init() { memory = .allocate(byteCount: Self.capacity, alignment: 64) }

    deinit { memory.deallocate() }

    var isEmpty: Bool { count == 0 }
    var room: Int { memory.count - count }

    /// Its contents, valid until it changes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    func prefix(_ most: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[..<min(count, most)])
    }

    /// Appends bytes.
    ///
    /// - Parameter new: At most `room` bytes.
    func append(_ new: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + new.count]).copyMemory(from: new)
        count += new.count
    }

    func removeAll() { count = 0 }
}
