internal import Foundation

/// What a cache file is known to hold, as kept beside it.
///
/// Written to a new file that is renamed over the old one, so a reader sees a whole one. It lags behind the file by a
/// second or some megabytes at most; bytes that it does not name are fetched again.
package struct Checkpoint: Sendable, Codable, Equatable {
    /// Of this format.
    package static let currentVersion = 1

    package var version = Checkpoint.currentVersion
    /// What the file is a rendition of: the owner's key.
    package var key: Int64
    package var generation: Int
    /// Bytes; absent while unknown.
    package var total: Int64?
    package var validator: String?
    package var contentType: String?
    package var finalURL: String?
    package var complete = false
    package var sha256: String?
    /// The boot during which `received` was written: it is true as long as the page cache is.
    package var bootID = ""
    package var device: UInt64 = 0
    package var inode: UInt64 = 0
    /// With `inode` and `total`, how the file looked when it was complete (`FileState`); absent before, and in what earlier
    /// versions wrote.
    package var modified: Int64?
    package var allocated: Int64?
    /// Half-open ranges that were handed to the kernel, as `[from, to]`.
    package var received: [[Int64]] = []
    /// The part of `received` that was on the disk after a sync.
    package var synced: [[Int64]] = []

    package init(key: Int64, generation: Int) {
        self.key = key
        self.generation = generation
    }

    /// How the complete file looked.
    package var state: FileState? {
        guard complete, let total, let modified, let allocated else { return nil }
        return FileState(inode: inode, modified: modified, size: total, allocated: allocated)
    }

    package mutating func setReceived(_ ranges: RangeSet<Int64>) { received = Self.pairs(ranges) }
    package mutating func setSynced(_ ranges: RangeSet<Int64>) { synced = Self.pairs(ranges) }
    package var receivedRanges: RangeSet<Int64> { Self.ranges(received) }
    package var syncedRanges: RangeSet<Int64> { Self.ranges(synced) }

    private static func pairs(_ ranges: RangeSet<Int64>) -> [[Int64]] {
        ranges.ranges.map { [$0.lowerBound, $0.upperBound] }
    }

    private static func ranges(_ pairs: [[Int64]]) -> RangeSet<Int64> {
        var result = RangeSet<Int64>()
        for pair in pairs where pair.count == 2 && pair[0] >= 0 && pair[0] < pair[1] {
            result.insert(contentsOf: pair[0]..<pair[1])
        }
        return result
    }

    /// This boot's id, from `/proc`; empty when it cannot be read, and then nothing but synced bytes is trusted.
    static func currentBootID() -> String {
        guard let data = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id"),
            let text = String(data: data, encoding: .utf8)
        else { return "" }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(self)
    }

    /// Reads a checkpoint; `nil` when it is damaged or of another version: its file is dropped, never guessed at.
    static func decode(_ data: Data) -> Checkpoint? {
        guard let checkpoint = try? JSONDecoder().decode(Checkpoint.self, from: data),
            checkpoint.version == currentVersion, checkpoint.isPlausible
        else { return nil }
        return checkpoint
    }

    /// 16 TiB, the largest file of ext4.
    private static let largest: Int64 = 1 << 44
    /// A rendition a second for sixty years is no more.
    private static let generations = 0...Int(Int32.max)

    /// Whether the numbers can be those of a file.
    private var isPlausible: Bool {
        guard Self.generations.contains(generation), (0...Self.largest).contains(total ?? 0) else { return false }
        return (received + synced).allSatisfy { pair in
            pair.count == 2 && 0 <= pair[0] && pair[0] <= pair[1] && pair[1] <= Self.largest
        }
    }
}
