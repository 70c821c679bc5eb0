internal import Foundation
internal import Glibc
internal import PodcastProtocol
internal import Transfers

/// The assets (artwork, transcripts, chapters) in the cache. Each is a file with a record of its origin beside it. Each
/// file is replaced atomically.
struct AssetStore: Sendable {
    /// The origin of an asset.
    struct Record: Codable, Sendable, Equatable {
        var url: String
        var etag: String?
        var lastModified: String?
        /// The time at which the server last sent or confirmed the asset, in seconds since 1970.
        var checked: Int64
        var size: Int64
    }

    /// The folder of the assets, which `Daemon.run` creates with mode 0700.
    let folder: String

    /// Maximum total size of the assets in bytes; above it the least recently used are removed.
    static let capacity: Int64 = 256 << 20
    private static let recordExtension = ".json"
    private static let temporaryPrefix = "new-"

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Creates a file for an incoming asset; `nil` if that fails.
    func begin() -> ArrivingDocument? { ArrivingDocument(path: path(Self.temporaryPrefix + UUID().uuidString)) }

    /// Returns the record of an asset if its file exists and has the recorded size.
    func record(_ name: String) -> Record? {
        guard let bytes = FileManager.default.contents(atPath: path(name) + Self.recordExtension),
            let record = try? JSONDecoder().decode(Record.self, from: bytes)
        else { return nil }
        var status = stat()
        guard lstat(path(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == record.size
        else { return nil }
        return record
    }

    func write(_ record: Record, of name: String) throws {
        guard let file = begin() else { throw POSIXError(.EIO) }
        file.append([UInt8](try JSONEncoder().encode(record)))
        try file.move(to: path(name) + Self.recordExtension)
    }

    /// Replaces an asset by a file that has arrived. On an error the old file stays. Its record stays too, unless the
    /// rename of the new file fails: the record is removed before the rename.
    func replace(_ name: String, by file: ArrivingDocument, _ record: Record) throws {
        try file.finish()
        // Remove the old record first, so that a file is never paired with another file's record.
        unlink(path(name) + Self.recordExtension)
        try file.move(to: path(name))
        // The new file is complete. Without a record it is fetched again at the next open.
        try? write(record, of: name)
    }

    func remove(_ name: String) {
        unlink(path(name))
        unlink(path(name) + Self.recordExtension)
    }

    /// Removes the assets of a show and of its episodes.
    func remove(podcast: ShowID, episodes: Set<EpisodeID>) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let parts = name.split(separator: "-", maxSplits: 1)
            guard parts.count == 2, let kind = AssetKind(rawValue: String(parts[0])), let id = Int64(parts[1]) else {
                continue
            }
            if kind == .cover ? ShowID(id) == podcast : episodes.contains(EpisodeID(id)) { remove(name) }
        }
    }

    /// Marks an asset as the most recently used.
    func touch(_ name: String) { utimensat(AT_FDCWD, path(name), nil, 0) }

    /// Removes assets, least recently used first, until they fit the capacity.
    ///
    /// - Parameters:
    ///   - kept: an asset that is not removed.
    ///   - removesBegun: whether to remove unfinished files as well; no fetch may be running then.
    /// - Returns: whether an asset was removed.
    @discardableResult
    func tidy(keeping kept: String? = nil, removesBegun: Bool = false) -> Bool {
        var files: [(name: String, size: Int64, used: timespec)] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            if name.hasPrefix(Self.temporaryPrefix) {
                if removesBegun { unlink(path(name)) }
                continue
            }
            var status = stat()
            guard !name.hasSuffix(Self.recordExtension), stat(path(name), &status) == 0 else { continue }
            files.append((name, Int64(status.st_size), status.st_mtim))
        }
        let all = files.reduce(0) { $0 + $1.size }
        var total = all
        for file in files.sorted(by: { ($0.used.tv_sec, $0.used.tv_nsec) < ($1.used.tv_sec, $1.used.tv_nsec) })
        where total > Self.capacity && file.name != kept {
            remove(file.name)
            total -= file.size
        }
        return total < all
    }
}
