package import Fuse
internal import PodcastLibrary
internal import SystemPackage

// `Latest` and `Downloaded`: links to episodes of all shows, made of the library's rows when they are looked at.
extension PodcastFilesystem {
    /// What a gathering holds, newest first. The kernel is told of names that are in it no more.
    func links(of gathering: Gathering) throws -> [EpisodeLink] {
        let entries =
            switch gathering {
            case .latest: try library.latest(limit: Gathering.latestCount)
            case .downloaded: try library.completeEntries()
            }
        let shows = Dictionary(try library.folders().map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        let names = EpisodeLink.names(entries, shows: shows)
        let links = entries.compactMap { entry -> EpisodeLink? in
            guard let name = names[entry.id], let show = shows[entry.podcast] else { return nil }
            return EpisodeLink(gathering, entry, name: name, show: show)
        }
        if let changes = gatherings.update(gathering, links, now: now, started: started) {
            announce(gathering, changes)
        }
        return links
    }

    /// Looks again at what was looked at before: something has changed in the library.
    func refreshGatherings() {
        for gathering in Gathering.allCases where gatherings.changed(gathering) != nil { _ = try? links(of: gathering) }
    }

    func attributes(of gathering: Gathering) -> Attributes {
        let changed = gatherings.changed(gathering) ?? started
        return folderAttributes(gathering.number, modified: changed, changed: changed)
    }

    func entry(of gathering: Gathering) -> Entry {
        Entry(
            node: gathering.number.node, attributes: attributes(of: gathering), attributeTimeout: Self.timeout,
            entryTimeout: Self.timeout)
    }

    func entry(_ link: EpisodeLink) -> Entry {
        Entry(
            node: link.number.node, attributes: link.attributes(owner: options.owner),
            attributeTimeout: Self.timeout, entryTimeout: Self.timeout)
    }

    /// A link by its number; `nil` when the episode or its show is no more.
    func link(_ number: NodeNumber) throws -> EpisodeLink? {
        guard let gathering = Gathering.allCases.first(where: { $0.linkKind == number.kind }),
            let entry = try library.entry(id: number.episode), let show = try library.folder(id: entry.podcast)
        else { return nil }
        // What it is called in its folder makes no difference to where it leads.
        return EpisodeLink(gathering, entry, name: entry.name, show: show.name)
    }

    package func readlink(_ request: consuming Request, node: NodeID) {
        do {
            guard let number = NodeNumber(node) else { throw Errno.staleNFSFileHandle }
            guard number.kind == .latestLink || number.kind == .downloadedLink else { throw Errno.invalidArgument }
            guard let link = try link(number) else { throw Errno.staleNFSFileHandle }
            request.reply(link: link.target)
        } catch {
            request.reply(error: Self.errno(of: error))
        }
    }
}
