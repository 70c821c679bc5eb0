import CLinux
import Fuse
import Glibc
import Platform
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import Transfers

/// The resolution of PATH arguments: paths in a mount, `SHOW`, or `SHOW/EPISODE`.
struct PathResolver {
    enum Target: Equatable {
        case show(ShowID)
        case episode(EpisodeID)
    }

    /// The part of a show's name that an argument must contain.
    enum Matching {
        /// All of it, ignoring case: for commands that change or remove something.
        case whole
        /// Any part that only one show's name contains.
        case part
    }

    let library: Library

    /// Returns the show or episode at a path in a mount: the extended attributes of a file identify an episode, and the
    /// inode number of a folder identifies a show. `nil` if the path has no attributes of a mount.
    ///
    /// - Throws: If the path has them, but is not in a mount of this library: the mount of another user or of the demo,
    ///   or a file that was copied with its attributes.
    func target(at path: String) throws -> Target? {
        let found: Target
        if let episode = Self.attribute("user.podfs.id", of: path).flatMap({ Int64($0) }) {
            found = .episode(EpisodeID(episode))
        } else if Self.attribute("user.podfs.feed.state", of: path) != nil, let show = Self.show(at: path) {
            found = .show(show)
        } else {
            return nil
        }
        let mount = MountEntry.containing(MountPoint.absolute(path))
        guard mount?.shows(library.path) ?? false else {
            throw Self.foreign(path, mount)
                ?? CommandError(
                    .failed,
                    "'\(path)' is not in a mount of this library: give SHOW, SHOW/EPISODE or a path in such a mount")
        }
        return found
    }

    /// Returns the show or episode that the argument refers to: a path in a mount, `SHOW` or `SHOW/EPISODE`.
    func resolve(_ path: String, matching: Matching = .whole) throws -> Target {
        if let target = try target(at: path) { return target }
        if Self.isPath(path) { throw Self.unresolvable(path) }
        let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true).map(String.init)
        guard let name = parts.first else { throw CommandError(.usage, "the path is empty") }
        let show: (id: ShowID, name: String)
        do {
            show = try self.show(name, matching: matching)
        } catch {
            throw access(path, F_OK) == 0 ? Self.unresolvable(path) : error
        }
        guard parts.count == 2 else { return .show(show.id) }
        let episode = parts[1].hasSuffix("/") ? String(parts[1].dropLast()) : parts[1]
        return .episode(try self.episode(episode, of: show))
    }

    // MARK: Names

    /// Finds a show by its folder's name: the show with exactly this name; otherwise the only show whose name is equal
    /// except for case; otherwise, with `Matching.part`, the only show whose name contains the text.
    func show(_ name: String, matching: Matching = .whole) throws -> (id: ShowID, name: String) {
        let name = name.hasSuffix("/") ? String(name.dropLast()) : name
        if let found = try library.folder(named: name) { return (found.id, found.name) }
        let folders = try library.folders()
        let folded = FileName.folded(name)
        let equal = folders.filter { FileName.folded($0.name) == folded }
        if let found = equal.first, equal.count == 1 { return (found.id, found.name) }
        let partial = name.isEmpty ? [] : folders.filter { LikelyName.contains(name, in: $0.name) }
        if let found = partial.first, partial.count == 1, matching == .part { return (found.id, found.name) }
        throw CommandError(.failed, "there is no show '\(name)'" + Self.hint(name, partial, folders))
    }

    /// Returns the part of the error message that suggests shows for an unknown name.
    ///
    /// - Parameter partial: The shows whose names contain the unknown name.
    private static func hint(_ name: String, _ partial: [FolderEntry], _ all: [FolderEntry]) -> String {
        if all.isEmpty { return ": there are no subscriptions yet; podfs subscribe URL adds one" }
        if partial.count > 1 {
            let names = partial.prefix(shownNames).map { "'\($0.name)'" }.joined(separator: ", ")
            let more = partial.count > shownNames ? ", and others" : ""
            return "; \(partial.count) shows have this in their names: \(names)\(more)"
        }
        let suggestion = partial.first?.name ?? LikelyName.nearest(to: name, in: all.map(\.name))
        return suggestion.map { "; did you mean '\($0)'?" } ?? "; see: podfs list"
    }

    /// The maximum number of shows named in a message.
    private static let shownNames = 4

    /// Finds an episode of a show by its exact file name. Otherwise case is ignored and the extension may be missing,
    /// if this matches only one episode. A path below `Alternate.folder` finds an alternate (another encoding of an
    /// episode).
    private func episode(_ name: String, of show: (id: ShowID, name: String)) throws -> EpisodeID {
        if let entry = try library.entry(of: show.id, named: name) { return entry.id }
        if name.hasPrefix(Alternate.folder + "/"), let id = try library.alternate(of: show.id, path: name) { return id }
        let entries = try library.entries(of: show.id)
        let folded = FileName.folded(name)
        let matches = entries.filter {
            let own = FileName.folded($0.name)
            return own == folded || FileName.stem(ofFile: own) == folded
        }
        if let found = matches.first, matches.count == 1 { return found.id }
        let suggestion = LikelyName.nearest(to: name, in: entries.prefix(Self.comparedNames).map(\.name))
        let hint = suggestion.map { "did you mean '\($0)'?" } ?? "see: podfs list '\(show.name)'"
        throw CommandError(.failed, "'\(show.name)' has no episode '\(name)'; \(hint)")
    }

    /// The maximum number of episodes searched for a similar name: the edit distance is slow to compute.
    private static let comparedNames = 1_000

    // MARK: Paths

    /// Returns whether an argument can only be a file path, not the name of a show.
    private static func isPath(_ argument: String) -> Bool {
        [".", "..", "~"].contains(argument) || ["/", "./", "../", "~/"].contains { argument.hasPrefix($0) }
    }

    /// Returns the error for a path that leads to neither a show nor an episode.
    private static func unresolvable(_ path: String) -> CommandError {
        let mount = MountEntry.containing(MountPoint.absolute(path))
        if let error = foreign(path, mount) { return error }
        if attribute(PodcastFilesystem.processAttribute, of: path) != nil {
            return CommandError(.failed, "'\(path)' is the mounted folder itself: name a show or an episode in it")
        }
        if mount?.type == "fuse.podfs" {
            let reason = access(path, F_OK) == 0 ? "is neither a show nor an episode" : "does not exist"
            return CommandError(.failed, "'\(path)' \(reason); see: podfs list")
        }
        let reason = access(path, F_OK) == 0 ? "is not in a mounted folder" : "does not exist"
        return CommandError(
            .failed, "'\(path)' \(reason): give SHOW, SHOW/EPISODE or a path in a folder of podfs mount")
    }

    /// Returns the error for a path in a mount of another user; `nil` for any other path.
    private static func foreign(_ path: String, _ mount: MountEntry?) -> CommandError? {
        guard let mount, mount.type == "fuse.podfs", let owner = mount.owner, owner != getuid() else { return nil }
        return CommandError(.failed, "'\(path)' is in a mount of user \(owner), not yours")
    }

    // MARK: Episodes

    /// Returns the episodes that the paths refer to, each once; for a show, the episodes to which `action` applies.
    func episodes(
        _ paths: [String], for action: TaskAction, matching: Matching = .whole
    ) throws -> [EpisodeID] {
        let episodes = try paths.flatMap { path -> [EpisodeID] in
            switch try resolve(path, matching: matching) {
            case .episode(let id): return [id]
            case .show(let id): return try library.episodes(of: id, for: action)
            }
        }
        return Self.distinct(episodes)
    }

    /// Returns the ids in their order, each once.
    static func distinct(_ ids: [EpisodeID]) -> [EpisodeID] {
        var seen: Set<EpisodeID> = []
        return ids.filter { seen.insert($0).inserted }
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

    /// Returns the value of an extended attribute; `nil` if it is missing or cannot be read. The corresponding C
    /// function is `getxattr`.
    static func attribute(_ name: String, of path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = buffer.withUnsafeMutableBytes { getxattr(path, name, $0.baseAddress, $0.count) }
        return count >= 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}

extension Library {
    /// Returns the path of an episode, `SHOW/EPISODE`; `nil` if it was removed.
    func path(of id: EpisodeID) throws -> String? {
        guard let entry = try entry(id: id), let show = try folder(id: entry.podcast) else { return nil }
        return "\(show.name)/\(entry.name)"
    }
}
