internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage

/// The content of a generated file and its times. Rendered when the file is accessed, never for a listing.
struct Rendering {
    var content: GeneratedContent
    /// The mtime in seconds of Unix time.
    var modified: Int64
    /// The ctime in seconds of Unix time.
    var changed: Int64
    /// The size to report while the content is not fetched yet; `nil` for the content's own size.
    var estimate: Int64?
}

/// A file whose content is rendered on access.
protocol GeneratedFile: NodeBehaviour {
    /// Renders the current content; `nil` if the file does not exist (any more).
    func render() throws -> Rendering?
}

extension GeneratedFile {
    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let rendering = try render() else { return nil }
        // The size of an open file does not change.
        let size = open?.content?.size ?? rendering.estimate ?? rendering.content.size
        var facts = NodeFacts(node, size: size, modified: rendering.modified, changed: rendering.changed)
        // The content is not fetched yet, but st_blocks must not be 0: programs treat a file without blocks as a hole.
        if rendering.estimate != nil, open?.content == nil { facts.blocks = 1 }
        return facts
    }

    func opening(by caller: Caller, flags: Int32) throws -> Opening {
        if mount.refuses(node, to: caller.uid) { throw Errno.permissionDenied }
        guard let rendering = try render() else { throw Errno.staleNFSFileHandle }
        // Direct I/O, so that reads return this content regardless of the size reported before.
        return .open(OpenFile(number: node, content: rendering.content), .direct)
    }
}

extension PodcastFilesystem {
    /// Whether a user is refused a file that only the owner may read: the raw or the parsed feed, which may contain a
    /// URL with a secret.
    func refuses(_ number: NodeNumber, to uid: UInt32) -> Bool {
        behaviour(of: number).form.permissions == 0o400 && !mayControl(uid) && uid != 0
    }
}

// MARK: A show's files

/// A file generated from all episodes of a show. Its size follows from the show's totals, and empty lines at its end
/// fill it to that size. So neither stat(2) nor the listing of the folder renders it.
protocol FilledFile: GeneratedFile {
    static func size(of show: ShowTotals) -> Int

    /// Returns the mtime.
    static func modified(of show: ShowTotals) -> Int64

    /// Renders the content, which should not exceed `size(of: totals)`; `nil` if the show does not exist.
    func bytes(_ totals: ShowTotals) throws -> [UInt8]?
}

extension FilledFile {
    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard var facts = try mount.library.totals(of: node.show).map(facts) else { return nil }
        if let size = open?.content?.size { facts.size = size }
        return facts
    }

    func facts(_ totals: ShowTotals) -> NodeFacts {
        NodeFacts(
            node, size: Int64(Self.size(of: totals)), modified: Self.modified(of: totals), changed: totals.changed)
    }

    func render() throws -> Rendering? {
        guard let totals = try mount.library.totals(of: node.show), let bytes = try bytes(totals) else { return nil }
        return Rendering(
            content: GeneratedContent(bytes, filledTo: Self.size(of: totals)), modified: Self.modified(of: totals),
            changed: totals.changed)
    }
}

/// The episodes of a show as a playlist.
struct PlaylistFile: FilledFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    static func size(of show: ShowTotals) -> Int { Playlist.size(tracks: show.episodes, text: show.bytes) }

    /// A download or progress in an episode does not change the list.
    static func modified(of show: ShowTotals) -> Int64 { show.newest }

    func bytes(_ totals: ShowTotals) throws -> [UInt8]? {
        guard let show = try mount.library.podcast(id: node.show) else { return nil }
        return Playlist(
            title: show.title, tracks: try mount.library.tracks(of: show.id), isSerial: show.type == "serial"
        ).bytes
    }
}

// MARK: An episode's files

/// An episode's show notes as a sanitized page.
struct NotesFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { Sidecar.form }

    func render() throws -> Rendering? {
        guard let episode = try mount.library.episode(id: node.episode), let notes = episode.notes, !notes.isEmpty,
            let show = try mount.library.podcast(id: episode.podcast)
        else { return nil }
        let page = NotesPage(episode, notes: notes, show: show)
        return Rendering(content: GeneratedContent(page.bytes), modified: episode.modified, changed: episode.changed)
    }
}

extension Episode {
    /// The publication time; an undated episode counts as published when it was first seen.
    var modified: Int64 { published ?? firstSeen }
}
