internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import TransferCore

// Episodes that are streams.
extension PodcastFilesystem {
    /// Returns the next step of opening a stream's playlist: the daemon must check the stream's URL. Throws EACCES if
    /// the caller may not open it.
    func openingOfStream(_ node: NodeNumber, by caller: Caller) throws -> Opening {
        if isIndexer(caller.pid) { throw Errno.permissionDenied }
        // The URL in the playlist may contain a secret of the owner.
        if !mayControl(caller.uid), caller.uid != 0, let episode = try library.episode(id: node.episode),
            try library.podcast(id: episode.podcast)?.hasCredentials ?? false
        {
            throw Errno.permissionDenied
        }
        return .requestAsset(.stream, .direct)
    }

    func streamContent(of node: NodeNumber) -> GeneratedContent? {
        guard let episode = try? library.episode(id: node.episode), episode.isStream else { return nil }
        return GeneratedContent(episode.streamContent)
    }
}
