internal import Foundation

/// The record of a cache file's contents, stored beside it.
///
/// A new checkpoint replaces the previous one atomically, so a reader never sees a partial one. During a download, a
/// checkpoint is due a second after the first byte that the previous one does not list, or after 8 MiB of such bytes
/// (`CheckpointPace`). After a crash, bytes that the last written checkpoint does not list are fetched again.
package struct Checkpoint: Sendable, Codable, Equatable {
    /// The version of this format.
    package static let currentVersion = 1

    package var version = Checkpoint.currentVersion
    /// The id of the media file whose bytes the cache file has.
    package var key: MediaID
    /// The number of the rendition (the version of the media file) in the cache file.
    package var generation: Int
    /// The size in bytes; absent while unknown.
    package var total: Int64?
    /// The strong validator as `Validator.text`; absent without one.
    package var validator: String?
    /// The media type in the server's response.
    package var contentType: String?
    /// The URL of the last accepted response, after redirects.
    package var finalURL: String?
    /// Whether every byte is present, synced and hashed.
    package var complete = false
    /// The SHA-256 of the complete file, in lower-case hexadecimal.
    package var sha256: String?
    /// `true` if the complete file has a hash that its feed lists; otherwise absent.
    package var isVerified: Bool?
    /// The id of the boot during which the ranges in `received` were written. Their bytes may exist only in that boot's
    /// page cache, so after a reboot only `synced` is trusted.
    package var bootID = ""
    package var inode: UInt64 = 0
    /// The state that the file had when it was completed; absent before.
    package var state: FileState?
    /// The ranges written to the file (and perhaps not yet to the disk), as `[from, to]`; `to` is exclusive.
    package var received: [[Int64]] = []
    /// The part of `received` that a sync has written to the disk, in the same form.
    package var synced: [[Int64]] = []

    package init(key: MediaID, generation: Int) {
        self.key = key
        self.generation = generation
    }

    /// Replaces `received`.
    package mutating func setReceived(_ ranges: RangeSet<Int64>) { received = Self.pairs(ranges) }
    /// Replaces `synced`.
    package mutating func setSynced(_ ranges: RangeSet<Int64>) { synced = Self.pairs(ranges) }
    package var receivedRanges: RangeSet<Int64> { Self.ranges(received) }
    /// The number of received bytes.
    package var receivedBytes: Int64 { receivedRanges.byteCount }
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

    /// Returns the id of this boot from `/proc`; empty if it cannot be read, in which case only synced bytes are
    /// trusted.
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

    /// Decodes a checkpoint; `nil` if it is damaged or of another version, in which case its file is discarded.
    static func decode(_ data: Data) -> Checkpoint? {
        guard let checkpoint = try? JSONDecoder().decode(Checkpoint.self, from: data),
            checkpoint.version == currentVersion, checkpoint.isPlausible
        else { return nil }
        return checkpoint
    }

    /// The maximum size: 16 TiB, the largest file of ext4.
    private static let largest: Int64 = 1 << 44
    /// The possible generations; the limit corresponds to one rendition a second for 68 years.
    private static let generations = 0...Int(Int32.max)

    /// Whether the numbers are possible for a file.
    private var isPlausible: Bool {
        guard Self.generations.contains(generation), (0...Self.largest).contains(total ?? 0) else { return false }
        return (received + synced).allSatisfy { pair in
            pair.count == 2 && 0 <= pair[0] && pair[0] <= pair[1] && pair[1] <= Self.largest
        }
    }
}
