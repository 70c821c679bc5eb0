internal import Fuse
internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

/// The file of an episode, or of an alternate: another encoding that the feed offers. The size is the feed's guess
/// until a server has confirmed it. The bytes come from the cache file or the daemon.
struct EpisodeFile: NodeBehaviour {
    let place: NodePlace

    var form: NodeForm { NodeForm(kind: .regular, permissions: 0o444, blockSize: 128 * 1024) }

    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let entry = try mount.library.entry(id: node.episode) else { return nil }
        var facts = mount.facts(of: entry)
        // A node identifies one rendition: the bytes of one server response. If the episode has a newer one, an open
        // handle of this node still has the size of its own rendition.
        if NodeNumber(entry) != node, let open {
            facts.size = open.media.withLock { $0.total } ?? facts.size
        }
        facts.number = node
        return facts
    }

    // MARK: Opening

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        guard let episode = try mount.library.opening(of: node.episode) else { throw Errno.noSuchFileOrDirectory }
        if episode.isStream { return try mount.openingOfStream(node, by: caller) }
        guard NodeNumber(kind: .episode, generation: episode.generation, row: node.row) == node else {
            // The rendition was replaced after the lookup. On ESTALE the kernel looks the name up again.
            mount.invalidateName(ofEpisode: node.episode)
            throw Errno.staleNFSFileHandle
        }
        // The daemon must know of every open of an unsubscribed episode, because it removes the file after the last
        // close.
        if !episode.isEphemeral, let file = wholeFile(episode, flags: flags) {
            // With passthrough, the kernel reads the cache file itself. It is not used with O_DIRECT, since reads
            // would have to be aligned as the cache file's disk requires. It is not used either if the episode's size
            // differs from the cache file's, since the kernel would use the cache file's size.
            return .open(file, file.bypassesCache || episode.size != episode.fileSize ? .cached : .passthrough)
        }
        let role = mount.role(of: caller.pid)
        if !episode.isEphemeral, let archived = archivedFile(episode, flags: flags) {
            if archived.place.isOffline, role == .indexer { throw Errno.permissionDenied }
            return .openArchived(archived)
        }
        if role == .indexer { throw Errno.permissionDenied }
        if !episode.isEphemeral, episode.size != nil, !episode.isComplete {
            var media = mount.partialMedia(node, episode.file, total: episode.size)
            if role == .probe { media.probing = ProbeReads(openedAt: SystemClock.monotonic.now) }
            return .open(OpenFile(number: node, isCounted: false, flags: flags, media: media), .cached)
        }
        return .requestOpen(episode.shownSize, role == .probe ? .probe : .player)
    }

    /// Returns an open file for a completely cached episode. If open handles of the node already have a backing file
    /// for passthrough, the open file reads that one, otherwise the cache file recorded in the library. Returns `nil`
    /// if the episode is incomplete, or if its file was changed since it was recorded.
    private func wholeFile(_ episode: EpisodeOpening, flags: Int32) -> OpenFile? {
        let media: OpenFile.Media
        if let backed = mount.state.withLock({ $0.files.nodes[node]?.backed }) {
            media = OpenFile.Media(reader: backed.reader, file: backed.name, total: backed.total, isComplete: true)
        } else {
            // A file that was changed since it was recorded is not served before the daemon has checked it.
            guard episode.isComplete, episode.archive == nil, let name = episode.file, let size = episode.size,
                let reader = try? MediaReader(
                    name: name, in: mount.options.cache,
                    expecting: .recorded(
                        episode.fileState.flatMap(FileState.init(text:)), size: episode.fileSize ?? size))
            else { return nil }
            media = OpenFile.Media(reader: reader, file: name, total: size, isComplete: true)
        }
        return OpenFile(number: node, isCounted: false, flags: flags, media: media)
    }

    /// Returns how to open an episode's file in the archive; `nil` if it has none there.
    private func archivedFile(_ episode: EpisodeOpening, flags: Int32) -> ArchivedOpening? {
        guard let place = episode.archive, let size = episode.fileSize else { return nil }
        let bypassesCache = flags & __O_DIRECT != 0
        return ArchivedOpening(
            number: node, place: place, size: size,
            expectation: .archived(episode.fileState.flatMap(FileState.init(text:)), size: size), flags: flags,
            preference: bypassesCache || episode.size != size ? .cached : .passthrough)
    }

    // MARK: Control

    func command(setting attribute: ControlAttribute, to value: String) -> Command? {
        switch attribute {
        case .task: return ControlAttribute.action(value).map { .act($0, episodes: [node.episode]) }
        case .played:
            guard value == "0" || value == "1" else { return nil }
            return .setPlayed(episode: node.episode, value == "1")
        case .position:
            guard let seconds = Double(value), (0...Double(SyncedState.longest)).contains(seconds) else { return nil }
            return .setPosition(episode: node.episode, seconds: seconds)
        }
    }
}

extension PodcastFilesystem {
    /// Looks up an episode by its name in a show's folder; `nil` if there is none.
    func findEpisode(_ name: String, of show: ShowID, entryTimeout: Double? = nil) throws -> Entry? {
        try library.entry(of: show, named: name).map { entry(facts(of: $0), entryTimeout: entryTimeout) }
    }

    /// Returns an episode's attributes, from its library row and its download task, if it has one.
    func facts(of row: EpisodeEntry) -> NodeFacts {
        let task = row.complete ? nil : live.task(of: row.id)
        let (entry, accessed) = state.withLock { state in
            (state.kernel.grants.applied(to: row), state.kernel.accessTimes[row.id])
        }
        var facts = NodeFacts(NodeNumber(entry), size: entry.size, modified: entry.modified, changed: entry.changed)
        var cached = entry.cachedBytes
        if let task, task.generation ?? entry.generation == entry.generation {
            cached = max(cached, task.received)
        }
        // Never 0: cp, tar and grep treat a file without blocks as one large hole, and read zeros from it.
        facts.blocks = max(1, (cached + 511) / 512)
        let opened = max(accessed ?? 0, entry.lastOpened ?? 0)
        if opened > 0 { facts.accessed = opened }
        return facts
    }
}

extension EpisodeEntry {
    /// The publication time; an undated episode counts as published when it was first seen.
    var modified: Int64 { published ?? firstSeen }
}
