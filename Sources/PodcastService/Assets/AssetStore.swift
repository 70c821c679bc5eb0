internal import Foundation
internal import PodcastProtocol

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
        /// The file extension for the format of an image.
        var imageExtension: String?
    }

    /// The total sizes of the assets in bytes.
    struct Totals: Sendable {
        var covers: Int64 = 0
        var others: Int64 = 0

        subscript(kind: AssetKind?) -> Int64 {
            get { kind == .cover ? covers : others }
            set { if kind == .cover { covers = newValue } else { others = newValue } }
        }

        /// Whether assets have to be removed.
        var exceedCapacity: Bool { covers > AssetStore.coverCapacity || others > AssetStore.capacity }
    }

    /// The folder of the assets, which `Daemon.run` creates with mode 0700.
    let folder: String

    /// Maximum total size of the assets other than covers in bytes; above it the least recently used are removed.
    static let capacity: Int64 = 256 << 20
    /// Maximum total size of the covers: two hundred of 2.5 MB each, or some two thousand of the usual size.
    static let coverCapacity: Int64 = 512 << 20
    private static let recordExtension = ".json"
    private static let temporaryPrefix = "new-"
    /// The prefix of the files that this daemon is receiving.
    private let ownPrefix = "\(temporaryPrefix)\(UUID())-"

    init(folder: String) { self.folder = folder }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Creates a file for an incoming asset; `nil` if that fails.
    func begin() -> ArrivingDocument? { ArrivingDocument(path: path(ownPrefix + UUID().uuidString)) }

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
        // Remove the old record first, so that a file is never paired with another file's record.
        try file.move(to: path(name), removing: path(name) + Self.recordExtension)
        // The new file is complete. Without a record it is fetched again at the next open.
        try? write(record, of: name)
    }

    func remove(_ name: String) {
        unlink(path(name))
        unlink(path(name) + Self.recordExtension)
    }

    /// Removes the assets of a show and of its episodes. Runs outside the actor, since there may be thousands of them.
    @concurrent func remove(podcast: ShowID, episodes: [EpisodeID]) async {
        remove(AssetKind.cover.fileName(podcast.rawValue))
        for kind in AssetKind.allCases where kind != .cover {
            for episode in episodes { remove(kind.fileName(episode.rawValue)) }
        }
    }

    /// Marks an asset as the most recently used.
    func touch(_ name: String) { utimensat(AT_FDCWD, path(name), nil, 0) }

    /// Removes assets, least recently used first, while their total size exceeds the capacity, and the unfinished files
    /// of earlier daemons. Reads the whole folder, so it runs outside the actor.
    ///
    /// - Parameter kept: an asset that is not removed.
    /// - Returns: the remaining total sizes, and the names of the removed assets.
    @concurrent func tidy(keeping kept: String?) async -> (totals: Totals, removed: [String]) {
        var files: [(name: String, kind: AssetKind?, size: Int64, used: timespec)] = []
        var totals = Totals()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            if name.hasPrefix(Self.temporaryPrefix) {
                if !name.hasPrefix(ownPrefix) { unlink(path(name)) }
                continue
            }
            var status = stat()
            guard !name.hasSuffix(Self.recordExtension), stat(path(name), &status) == 0 else { continue }
            let kind = AssetKind(rawValue: String(name.prefix { $0 != "-" }))
            totals[kind] += Int64(status.st_size)
            files.append((name, kind, Int64(status.st_size), status.st_mtim))
        }
        var removed: [String] = []
        guard totals.exceedCapacity else { return (totals, removed) }
        for file in files.sorted(by: { ($0.used.tv_sec, $0.used.tv_nsec) < ($1.used.tv_sec, $1.used.tv_nsec) })
        where file.name != kept && totals[file.kind] > (file.kind == .cover ? Self.coverCapacity : Self.capacity) {
            remove(file.name)
            totals[file.kind] -= file.size
            removed.append(file.name)
        }
        return (totals, removed)
    }
}
