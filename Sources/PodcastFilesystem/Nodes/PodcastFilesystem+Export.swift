internal import Fuse
internal import PodcastLibrary
internal import Transfers

// Lookups by node id, which the kernel sends for the handles of an exported mount (NFS, open_by_handle_at(2)) when it
// no longer has the node. Node ids are computed from library rows, so a handle stays valid after a remount, and after
// the kernel has forgotten the node.
extension PodcastFilesystem {
    /// Returns the reply to a lookup of `.` or `..` in a node.
    ///
    /// - Returns: `nil` if the node does not exist any more, has another generation, or belongs to a search: the kernel
    ///   then reports ESTALE. Never an entry of another node.
    func entry(ofHandle node: NodeNumber, parent: Bool) throws -> Entry? {
        guard try isExported(node) else { return nil }
        let behaviour = behaviour(of: node)
        guard parent else { return try entry(of: node) }
        return behaviour.form.kind == .directory ? try entry(of: behaviour.parent) : nil
    }

    /// Whether a node may be found by its id. For a node of a show or an episode, this also checks that the show or the
    /// episode exists. For any other node, only `entry(of:)` checks that the node exists.
    private func isExported(_ node: NodeNumber) throws -> Bool {
        switch node.kind {
        // Search results disappear, and a mount knows only the terms that were looked up in it.
        case .search, .term, .foundShow, .find, .findTerm, .findPlaylist, .findNoMedia, .findLink: return false
        case .fixed, .view, .viewLink, .viewPlaylist, .viewNoMedia, .viewFeed, .viewPage, .tags, .tag, .tagLink,
            .tagged:
            return true
        case .show, .taggedShow, .showFeed, .playlist, .page, .feedJSON, .feedXML, .notesFolder, .chaptersFolder,
            .alternates, .cover:
            return try library.podcast(id: node.show).map { !$0.ephemeral } ?? false
        case .episode:
            guard let episode = try library.opening(of: node.episode), !episode.isEphemeral else { return false }
            return NodeNumber(kind: .episode, generation: episode.generation, row: node.row) == node
        case .taggedEpisode:
            guard let entry = try library.entry(id: node.episode) else { return false }
            return TaggedEpisode.facts(of: entry, try library.taggedFile(of: entry.id), self).number == node
        case .notes, .chapters, .art, .vtt, .srt, .episodeAlternates:
            return try library.opening(of: node.episode).map { !$0.isEphemeral } ?? false
        }
    }
}
