internal import Foundation
internal import Platform

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
    /// The ranges written to the file (and perhaps not yet to the disk), as `ByteRanges.text`.
    private var received = ""
    /// The part of `received` that a sync has written to the disk, in the same form.
    private var synced = ""

    package init(key: MediaID, generation: Int) {
        self.key = key
        self.generation = generation
    }

    package var receivedRanges: ByteRanges {
        get { ByteRanges(text: received) ?? ByteRanges() }
        set { received = newValue.text }
    }
    package var syncedRanges: ByteRanges {
        get { ByteRanges(text: synced) ?? ByteRanges() }
        set { synced = newValue.text }
    }

    /// Returns the id of this boot from `/proc`; empty if it cannot be read, in which case only synced bytes are
    /// trusted.
    package static func currentBootID() -> String {
        (SystemFile.contents("/proc/sys/kernel/random/boot_id") ?? "").filter { !$0.isWhitespace }
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(self)
    }

    /// Decodes a checkpoint; `nil` if it is damaged or of another version, in which case its file is discarded.
    static func decode(_ data: Data) -> Checkpoint? {
        guard let checkpoint = try? JSONDecoder().decode(Checkpoint.self, from: data),
            checkpoint.version == currentVersion, generations.contains(checkpoint.generation),
            (0...BodyFraming.largestSize).contains(checkpoint.total ?? 0)
        else { return nil }
        return checkpoint
    }

    /// The possible generations; the limit corresponds to one rendition a second for 68 years.
    private static let generations = 0...Int(Int32.max)
}
