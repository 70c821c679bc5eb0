internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

// Functions that run on the engine's thread and on the socket's thread.
extension CoreDriver {
    /// Returns the closure with which the engine loads an episode's address, file and settings from the library.
    nonisolated func loader(_ episode: EpisodeID) -> TransferEngine.Loader {
        { [self] in
            guard let row = try library.source(of: episode) else {
                throw TransferError(.missing, "the episode is no longer in the library")
            }
            if StreamFile.isStream(row.name) { throw StreamPlaylist.notAFile }
            if row.isArchived { throw TransferError(.failed, "it is in the archive") }
            try checkFile(of: row)
            let settings = ShowSettings(stored: row.settings)
            let media = MediaID(episode)
            var source = DownloadSource(key: media, url: row.sources[0].url, generation: row.generation)
            source.confirmedSize = row.confirmedSize
            source.file = row.file
            source.expects = ContentExpectation(fileName: row.name)
            source.userAgent = settings.userAgent
            source.isSuspended = row.task.map { $0.isSuspended || view.withLock { $0.held.contains(media) } } ?? false
            if row.task?.isAutomatic ?? false { source.priority = .automatic }
            if case .bytesPerSecond(let limit) = settings.rateLimit { source.rateLimit = limit }
            source.isComplete = row.isComplete
            source.setLocations(row.sources.map(DownloadSource.Location.init))
            source.statedSize = row.statedSize
            source.credentials = credentials(of: row.podcast, row.access)
            source.reach = row.access.linkReach
            source.awaitsSpace = view.withLock { $0.waiting[media] }.map(Self.error)
            return source
        }
    }

    /// Checks an episode's file before it is used.
    ///
    /// - Throws: `unverified` if the whole file has to be read first; another error if the file cannot be checked now
    ///   and may be intact. A file that is certainly defective causes no error, because the engine drops it.
    private nonisolated func checkFile(of source: EpisodeSource) throws(TransferError) {
        guard let file = source.file,
            let defect = engine.cache.defect(
                of: file,
                expecting: CacheVerifier.expectation(
                    isComplete: source.isComplete, size: source.fileSize, state: source.fileState))
        else { return }
        if defect == .changed { throw TransferError(.unverified, "the file in the cache has to be verified") }
        if defect.isTransient { throw TransferError(unopened: defect) }
    }
}

extension DownloadSource.Location {
    init(_ source: MediaSource) { self.init(url: source.url, hash: source.hash.flatMap(FileHash.init)) }
}

extension ContentExpectation {
    /// Creates the expectation for a file, based on the content that players infer from its extension.
    init(fileName name: String) {
        let suffix = FileName.fileExtension(of: name)
        if ["asx", "m3u", "m3u8", "mpd", "pls", "smil", "wax", "wpl", "wvx", "xspf"].contains(suffix) {
            self = .playlist
        } else if let type = MediaType.mimeType(forExtension: suffix), !type.hasPrefix("application/") {
            self = .media
        } else {
            self = .other
        }
    }
}
