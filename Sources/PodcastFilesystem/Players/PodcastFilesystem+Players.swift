internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization

// Players on the session bus that play episodes of this mount.
extension PodcastFilesystem {
    /// Watches players from now on. Call before `start`.
    package func watchPlayers(_ options: PlayerWatch.Options) {
        let watch = PlayerWatch(
            options,
            mount: PlayerWatch.Mount(
                episode: { [weak self] in self?.episode(at: $0) },
                report: { [weak self] report, answer in
                    guard let self else { return answer(nil) }
                    link.send(.command, WireJSON.encode(Command.report(report))) { result in
                        answer((try? result.reply().listening) ?? nil)
                    }
                }))
        players.withLock { $0 = watch }
    }

    func reportOpen(of file: OpenFile) {
        if file.isEpisode { players.withLock { $0 }?.opened(file.number.episode) }
    }

    func reportClose(of file: OpenFile) {
        if file.isEpisode { players.withLock { $0 }?.closed(file.number.episode) }
    }

    /// The maximum number of symbolic links followed in a path, as in the kernel.
    private static let maxLinks = 40

    /// Returns the episode of a path below the mount point; `nil` if there is none. Makes no system call on the path,
    /// since a mount that waits for itself hangs.
    func episode(at path: [String]) -> EpisodeID? { try? find(path[...]) }

    /// Returns the episode that an open(2) of `name` would find. The name may also be one as a playlist encodes it for
    /// VLC.
    private func episode(named name: String, of show: ShowID) throws -> EpisodeID? {
        if let entry = try library.entry(of: show, named: name) { return entry.id }
        guard let plain = Playlist.fileName(ofEncodedForVLC: name) else { return nil }
        return try library.entry(of: show, named: plain)?.id
    }

    private func find(_ path: ArraySlice<String>) throws -> EpisodeID? {
        var rest = path
        var folders: [NodeNumber] = []
        var links = 0
        while let name = rest.popFirst() {
            let folder = folders.last ?? .root
            if name == ".." {
                _ = folders.popLast()
                continue
            }
            switch folder.kind {
            case .show where name != Alternate.folder, .foundShow, .taggedShow:
                return rest.isEmpty ? try episode(named: name, of: folder.show) : nil
            case .search:
                // The term is not looked up, since that would count as a lookup by the kernel.
                guard let show = rest.popFirst(),
                    let found = try library.foundFolder(named: show) ?? library.folder(named: show)
                else { return nil }
                folders.append(NodeNumber(kind: .foundShow, row: found.id))
            case .find:
                // As above.
                guard let number = state.withLock({ $0.kernel.findTerms.number(of: name) }) else { return nil }
                folders.append(NodeNumber(kind: .findTerm, row: Int64(number)))
            default:
                let behaviour = behaviour(of: folder)
                guard let entry = try behaviour.find(name), let number = NodeNumber(entry.node) else { return nil }
                let found = self.behaviour(of: number)
                switch found.form.kind {
                case .directory: folders.append(number)
                case .symlink:
                    links += 1
                    guard links <= Self.maxLinks, let target = try found.target(), !target.hasPrefix("/") else {
                        return nil
                    }
                    rest = target.split(separator: "/").map(String.init) + rest
                default: return rest.isEmpty && number.kind == .episode ? number.episode : nil
                }
            }
        }
        return nil
    }
}
