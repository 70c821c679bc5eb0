internal import Glibc
internal import PodcastLibrary
internal import PodcastProtocol

extension Archive {
    /// Adds a file that another program has downloaded to the archive, as the file of an episode.
    ///
    /// - Parameters:
    ///   - path: An absolute path, or a path relative to the archive folder for a file that is in it.
    ///   - size: The size in bytes of a file elsewhere.
    func adopt(_ path: String, size: Int64, as episode: EpisodeID) async throws -> Reply {
        guard let row = try library.episode(id: episode) else { throw LibraryError.noSuchEpisode(episode) }
        if row.complete { throw Failure(message: "the episode is downloaded already") }
        // A person who runs the command again may have attached the disk.
        if state.writeProblem != nil { await check() }
        do {
            if path.hasPrefix("/") {
                return .adopted(path: try await store(fileAt: path, size: size, of: episode).path)
            }
            guard !path.split(separator: "/").contains("..") else {
                throw ArchiveError.refused("\(path): is not a path")
            }
            if let known = try library.archivedFile(path: path), known.episode != nil {
                throw ArchiveError.refused("it is the file of another episode")
            }
            return .adopted(path: try await record(path: path, of: episode).path)
        } catch let error as ArchiveError {
            // The client ends at an error of the archive itself, since it would recur with every file.
            let number: Int32 =
                switch error {
                case .full: ENOSPC
                case .unavailable: EIO
                case .refused, .damaged: 0
                }
            throw Failure(errorNumber: number, message: error.description)
        }
    }
}
