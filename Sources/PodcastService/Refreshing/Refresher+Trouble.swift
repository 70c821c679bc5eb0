internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

// Feeds that may never return.
extension Refresher {
    /// Runs the hook for each show whose trouble is due to be announced, once for each trouble. Call after the result
    /// of a refresh was recorded.
    func announceTroubles() {
        do {
            for (id, trouble) in try library.announceTroubles(now: now()) {
                guard let show = try library.podcast(id: id) else { continue }
                let unsaved = try library.unsavedEpisodes(of: id)
                log.warning("\(show.name): its feed may never return (\(trouble.rawValue))")
                driver.runHook(
                    configuration.onFeedTrouble,
                    [
                        "PODFS_SHOW": show.name, "PODFS_TITLE": show.title, "PODFS_URL": show.visibleURL,
                        "PODFS_TROUBLE": trouble.rawValue, "PODFS_ERROR": show.error ?? "",
                        "PODFS_UNSAVED": "\(unsaved.count)", "PODFS_UNSAVED_BYTES": "\(unsaved.bytes)",
                    ])
                driver.changed(podcast: id, name: show.name)
            }
        } catch {
            log.error("\(error)")
        }
    }
}
