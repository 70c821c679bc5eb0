import FlyingSocks
import Platform

/// A response body that is sent at a limited rate.
struct ThrottledBytes: AsyncBufferedSequence {
    typealias Element = UInt8

    let bytes: ArraySlice<UInt8>
    let bytesPerSecond: Int

    /// The maximum number of bytes that the demo server requests from this sequence at once.
    static let largestPiece = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(rest: bytes, bytesPerSecond: bytesPerSecond) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>
        fileprivate let bytesPerSecond: Int
        private let start = ContinuousClock.now
        /// The number of bytes returned.
        private var sent = 0

        fileprivate init(rest: ArraySlice<UInt8>, bytesPerSecond: Int) {
            self.rest = rest
            self.bytesPerSecond = bytesPerSecond
        }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        /// Waits until the next piece is due, and returns it. For a smooth transfer, a piece has at most the bytes that
        /// are sent in a twentieth of a second.
        mutating func nextBuffer(suggested count: Int) async throws -> ArraySlice<UInt8>? {
            guard !rest.isEmpty else { return nil }
            let piece = rest.prefix(Swift.min(count, Swift.max(1, bytesPerSecond / 20)))
            sent += piece.count
            rest = rest.dropFirst(piece.count)
            let due = start.advanced(by: .seconds(Double(sent) / Double(bytesPerSecond)))
            await Timers.sleep(for: ContinuousClock.now.duration(to: due))
            try Task.checkCancellation()
            return piece
        }
    }
}
