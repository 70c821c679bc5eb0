import CLinux
import Foundation
import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import PodcastService
import TransferCore

/// Resolves a PATH argument: a path inside a mount, or `SHOW` or `SHOW/EPISODE`.
struct PathResolver {
    enum Target: Equatable {
        case show(ShowID)
        case episode(EpisodeID)
    }

    let library: Library

    func resolve(_ path: String) throws -> Target {
        if let episode = Self.attribute("user.podfs.id", of: path).flatMap({ Int64($0) }) {
            return .episode(EpisodeID(episode))
        }
        if Self.attribute("user.podfs.feed.state", of: path) != nil, let show = Self.show(at: path) {
            return .show(show)
        }
        let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true).map(String.init)
        guard let name = parts.first else { throw CommandError(.usage, "the path is empty") }
        let show = try show(name)
        guard parts.count == 2 else { return .show(show.id) }
        let episodeName = parts[1].hasSuffix("/") ? String(parts[1].dropLast()) : parts[1]
        if let entry = try library.entry(of: show.id, named: episodeName) { return .episode(entry.id) }
        throw CommandError(.failed, "'\(show.name)' has no episode '\(episodeName)'; see: podfs list '\(show.name)'")
    }

    /// Finds a show by the name of its folder: the exact name, otherwise the only one that is equal except for case.
    func show(_ name: String) throws -> (id: ShowID, name: String) {
        let name = name.hasSuffix("/") ? String(name.dropLast()) : name
        if let found = try library.folder(named: name) { return (found.id, found.name) }
        let folders = try library.folders()
        let alike = folders.filter { FileName.folded($0.name) == FileName.folded(name) }
        if let found = alike.first, alike.count == 1 { return (found.id, found.name) }
        let near = SettingText.nearest(to: name, in: folders.map(\.name))
        let hint = near.map { "; did you mean '\($0)'?" } ?? "; see: podfs list"
        throw CommandError(.failed, "there is no show '\(name)'\(hint)")
    }

    /// Returns the episodes that the paths refer to; for a show, those of its episodes to which `action` applies.
    func episodes(_ paths: [String], for action: TaskAction) throws -> [EpisodeID] {
        try paths.flatMap { path -> [EpisodeID] in
            switch try resolve(path) {
            case .episode(let id): return [id]
            case .show(let id): return try library.episodes(of: id, for: action)
            }
        }
    }

    /// Returns the show of a folder in a mount. Uses the inode number instead of the folder's name, because a search
    /// result may have the same name as a subscribed show.
    private static func show(at path: String) -> ShowID? {
        var status = stat()
        guard stat(path, &status) == 0, let number = NodeNumber(NodeID(rawValue: UInt64(status.st_ino))),
            number.kind == .show || number.kind == .foundShow
        else { return nil }
        return number.show
    }

    /// Returns an extended attribute's value; the corresponding C function is `getxattr`.
    static func attribute(_ name: String, of path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = buffer.withUnsafeMutableBytes { getxattr(path, name, $0.baseAddress, $0.count) }
        return count >= 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
