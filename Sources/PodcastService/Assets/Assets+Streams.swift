internal import Glibc
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Streams. The file of an episode that is a stream is a playlist with the stream's address, which the mount generates.
// Before the file is opened, the daemon fetches and checks the playlist at that address. If there is nothing to play,
// the open fails with the reason. The check also ensures that no player is directed to an address that podfs itself
// would not request.
extension Assets {
    /// The time for which a checked playlist is not fetched again. It is short, because a live stream may end at any
    /// time.
    private static let streamFreshness = Duration.seconds(60)
    /// The maximum time to fetch a playlist. During this time a program waits in open(2).
    private static let streamTimeout = Duration.seconds(30)
    /// The maximum number of remembered streams.
    private static let mostStreams = 1_000

    /// Checks the playlist of a stream, unless the result of a recent check is known. Throws the reason if the stream
    /// cannot be played.
    func stream(_ id: EpisodeID) async throws -> Reply {
        let name = AssetKind.stream.fileName(id.rawValue)
        guard let episode = try library.episode(id: id), episode.isStream else {
            throw Failure(errorNumber: ENODATA, message: "it is not a stream, or no longer is")
        }
        if let past = failures[name], past.url == episode.url, past.until > uptime { throw past.failure }
        if let known = streams[id], known.url == episode.url, known.until > uptime {
            return .asset(file: name, size: 0)
        }
        let task =
            fetches[name]
            ?? startTask { [self] in
                defer { fetches[name] = nil }
                return try await checkStream(of: episode, name: name)
            }
        fetches[name] = task
        return .asset(file: name, size: try await task.value)
    }

    private func checkStream(of episode: Episode, name: String) async throws -> Int64 {
        do {
            try await check(episode)
        } catch {
            let failure = (error as? TransferError)?.failure ?? Failure(errorNumber: EIO, message: "\(error)")
            log.warning("\(episode.name): \(failure.message)")
            record(failure, of: name, url: episode.url)
            throw failure
        }
        if streams.count >= Self.mostStreams { streams = [:] }
        streams[episode.id] = (episode.url, uptime + Self.streamFreshness)
        failures[name] = nil
        return 0
    }

    private func check(_ episode: Episode) async throws {
        let request = try request(
            episode.url, of: episode.podcast, limit: StreamPlaylist.largest, timeout: Self.streamTimeout)
        var playlist: StreamPlaylist?
        for try await event in engine.data(for: request) {
            switch event {
            case .head(let head):
                guard head.status == 200 else { throw Self.error(ofStatus: head.status) }
                playlist = StreamPlaylist(
                    base: head.url ?? episode.url, reach: configuration.transfers.network.reach, space: head.space)
            case .bytes(let bytes): try playlist?.append(bytes)
            }
        }
        guard playlist != nil else { throw TransferError(.failed, "no answer") }
        try playlist?.finish()
    }
}
