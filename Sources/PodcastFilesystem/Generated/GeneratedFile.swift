internal import Fuse
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import TransferCore

/// The content of a generated file, rendered when that file is accessed, never for a listing.
struct Rendering {
    var content: GeneratedContent
    /// The mtime in seconds.
    var modified: Int64
    var changed: Int64
    /// The size to list while the content is not fetched yet; `nil` for the content's own.
    var estimate: Int64?

    init(_ content: GeneratedContent, modified: Int64, changed: Int64) {
        self.content = content
        self.modified = modified
        self.changed = changed
    }
}

protocol GeneratedFile: NodeBehaviour {
    /// Renders the current content; `nil` if the file does not exist (any more).
    func render() throws -> Rendering?
}

extension GeneratedFile {
    func facts(open: OpenFile?) throws -> NodeFacts? {
        guard let rendering = try render() else { return nil }
        // An open file does not change.
        let size = open?.content?.size ?? rendering.estimate ?? rendering.content.size
        var facts = NodeFacts(node, size: size, modified: rendering.modified, changed: rendering.changed)
        // As for an episode: programs take a file of no blocks for a hole.
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
    /// Whether a user may not open a file. A private feed may contain the secret of its address.
    func refuses(_ number: NodeNumber, to uid: UInt32) -> Bool {
        behaviour(of: number).form.permissions == 0o400 && !mayControl(uid) && uid != 0
    }
}

// MARK: A show's files

struct PlaylistFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    func render() throws -> Rendering? {
        guard let show = try mount.library.podcast(id: node.show), let folder = try mount.library.folder(id: node.show)
        else { return nil }
        let playlist = Playlist(
            title: show.title, tracks: try mount.library.tracks(of: show.id), isSerial: show.type == "serial")
        return Rendering(
            GeneratedContent(playlist.bytes), modified: max(folder.newest ?? 0, show.changed), changed: show.changed)
    }
}

// MARK: An episode's files

/// Show notes, sanitized.
struct NotesFile: GeneratedFile {
    let node: NodeNumber
    let mount: PodcastFilesystem

    var form: NodeForm { Sidecar.form }

    func render() throws -> Rendering? {
        guard let episode = try mount.library.episode(id: node.episode), let notes = episode.notes, !notes.isEmpty,
            let show = try mount.library.podcast(id: episode.podcast)
        else { return nil }
        let page = NotesPage(episode, notes: notes, show: show)
        return Rendering(GeneratedContent(page.bytes), modified: episode.modified, changed: episode.changed)
    }
}

extension Episode {
    /// The publication time; an undated episode counts as published when it was first seen.
    var modified: Int64 { published ?? firstSeen }
}
