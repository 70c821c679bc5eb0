package import PodcastProtocol
internal import Transfers

extension Library {
    /// Returns the outstanding downloads and uploads from the library. For use when no daemon runs.
    package func outstandingTasks() throws -> [TaskInfo] {
        let uploads = try uploads().map { upload in
            TaskInfo(
                id: upload.id, kind: .upload, path: upload.title, episode: nil,
                state: upload.state,
                received: upload.progress.offset, expected: upload.size, rate: nil, error: upload.error,
                started: upload.created)
        }
        let downloads: [TaskInfo] = try downloads().compactMap { download in
            guard let episode = try episode(id: download.episode), let show = try folder(id: episode.podcast) else {
                return nil
            }
            var info = TaskInfo(
                id: download.id, kind: .download, path: show.name + "/" + episode.name, episode: episode.id,
                state: download.state,
                received: episode.cachedBytes, expected: episode.confirmedSize, rate: nil,
                error: download.error, started: download.created)
            if info.expected == nil, episode.size.source != .unknown { info.estimate = episode.size.bytes }
            return info
        }
        return uploads + downloads
    }
}
