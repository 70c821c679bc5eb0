internal import Fuse
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

// Episodes that are streams. The file of such an episode is a playlist with the stream's URL.
extension PodcastFilesystem {
    /// Returns the next step of an open of a stream's playlist, which is to ask the daemon to check the stream's URL.
    /// Throws EACCES if the caller may not open the playlist.
    func openingOfStream(_ node: NodeNumber, by caller: Caller) throws -> Opening {
        if isIndexer(caller.pid) { throw Errno.permissionDenied }
        // The URL in the playlist may contain a secret of the user who owns the mount.
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
