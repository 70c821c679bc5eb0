internal import Platform
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Synchronization
internal import SystemPackage
internal import Transfers

extension EpisodeFile {
    func extendedAttributes() throws -> [(String, String)] {
        guard let row = try mount.library.episode(id: node.episode),
            let podcast = try mount.library.podcast(id: row.podcast)
        else { throw Errno.staleNFSFileHandle }
        let episode = mount.state.withLock { $0.kernel.grants.applied(to: row) }
        let task = episode.complete ? nil : mount.live.task(of: episode.id)
        var values = AttributeList()
        values.add("user.podfs.id", episode.id)
        values.add("user.podfs.generation", episode.generation)
        if episode.isStream {
            values.add("user.podfs.state", TaskState.stream.rawValue)
            for (name, value) in mount.assetFailures.attributes(of: node) { values.add(name, value) }
        } else {
            addState(of: episode, task, to: &values)
            values.add("user.podfs.size_source", episode.size.source.rawValue)
        }
        values.add("user.podfs.sha256", episode.complete ? episode.sha256 : nil)
        values.add("user.podfs.integrity", episode.complete && episode.isVerified ? "verified" : nil)
        for (name, value) in try alternateAttributes(of: episode) { values.add(name, value) }
        let main = try mainEpisode(of: episode)
        values.add("user.podfs.guid", main.guid)
        values.add("user.podfs.season", main.season)
        values.add("user.podfs.episode", main.episode.map(Self.decimal))
        values.add("user.podfs.episode_type", main.episodeType)
        values.add("user.podfs.duration", episode.duration.map(Self.decimal))
        values.add("user.podfs.played", main.played ? "1" : "0")
        values.add("user.podfs.position", main.position.map(Self.decimal))
        values.add("user.podfs.last_played", main.lastPlayed.map(TimeText.iso8601))
        values.add("user.xdg.origin.url", podcast.visible(episode.url))
        values.add("user.xdg.referrer.url", podcast.visibleURL)
        values.add(
            "user.mime_type",
            MediaType.reported(type: episode.type, fileExtension: FileName.fileExtension(of: episode.name)))
        values.add("user.dublincore.title", episode.title)
        values.add("user.dublincore.creator", episode.author ?? podcast.author)
        values.add("user.dublincore.publisher", podcast.title)
        values.add("user.dublincore.date", episode.published.map(TimeText.iso8601))
        values.add("user.dublincore.description", main.notes)
        values.add("user.dublincore.identifier", main.guid)
        values.add("user.dublincore.language", podcast.language)
        return values.items
    }

    /// Returns the main episode of an alternate; for any other episode, the episode itself.
    private func mainEpisode(of episode: Episode) throws -> Episode {
        guard episode.isAlternate else { return episode }
        return try mount.library.episode(id: mount.library.mainEpisode(of: episode.id)) ?? episode
    }

    private func addState(of episode: Episode, _ task: TaskInfo?, to values: inout AttributeList) {
        let retryError = mount.live.retryError(of: episode.id)
        // If there is a task, only its own error is reported. If the task has failed without an error, the error
        // recorded for the download is reported instead.
        let error =
            task.map { $0.state == .failed ? $0.error ?? episode.download?.error : $0.error }
            ?? retryError?.error ?? episode.download?.error
        let progress = EpisodeProgress(episode, task)
        let (received, expected) = (progress.received, progress.expected)
        var state = progress.state
        if task == nil, !state.isWhole, error != nil { state = retryError?.isFinal == false ? .remote : .failed }
        values.add("user.podfs.state", state.rawValue)
        values.add("user.podfs.progress", "\(progress.tenths / 10).\(progress.tenths % 10)")
        values.add("user.podfs.bytes_received", received)
        values.add("user.podfs.bytes_expected", expected)
        values.add("user.podfs.ranges", ranges(of: episode, task))
        if state == .running {
            values.add("user.podfs.rate", task?.rate.map(WholeNumber.of))
            if let rate = task?.rate, rate > 0, let expected, expected >= received {
                let rest = Double(expected) - Double(received)
                values.add("user.podfs.eta", WholeNumber.of((rest / rate).rounded(.up)))
            }
        }
        // `user.podfs.error` is set not only for failed downloads, but also for those that are retried, wait for space,
        // or are suspended because the disk is full.
        if let problem = EpisodeProgress.archiveProblem(of: episode), !episode.complete || state == .offline {
            values.add("user.podfs.error", problem)
        } else if !state.isWhole {
            let nextTry = task?.nextTry ?? (retryError?.isFinal == false ? retryError?.info?.nextTry : nil)
            let wait = nextTry.flatMap { $0 >= mount.now ? Double($0 - mount.now) : nil }
            values.add("user.podfs.error", error.map { StatusReport.reason($0, retryIn: wait) })
        }
    }

    /// Returns the cached byte ranges as text; empty if there are none, or if the checkpoint cannot be loaded.
    private func ranges(of episode: Episode, _ task: TaskInfo?) -> String {
        if episode.complete { return episode.size.bytes > 0 ? "0-\(episode.size.bytes - 1)" : "" }
        if let ranges = task?.ranges, task?.generation == episode.generation { return ranges }
        guard episode.cachedBytes > 0, let rendition = try? mount.library.rendition(of: episode.id),
            let checkpoint = try? ContentCache.checkpoint(of: rendition.file, in: mount.options.cache)
        else { return "" }
        return checkpoint.receivedRanges.text
    }

    /// Formats a number, without a decimal point if it is a whole number below 10^15.
    static func decimal(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }
}

/// A list of extended attributes in the order in which they are listed. Attributes whose value is `nil` are omitted,
/// and line breaks at the end of a value are removed.
struct AttributeList {
    private(set) var items: [(String, String)] = []

    mutating func add(_ name: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        // The maximum size of a value is 64 KiB (xattr(7)); longer show notes are cut between two characters.
        var text = value.description
        if text.utf8.count > 65_536 {
            text = String(decoding: text.utf8.prefix(65_536 - 4), as: UTF8.self)
            while text.last == "\u{FFFD}" { text.removeLast() }
        }
        while text.last?.isNewline == true { text.removeLast() }
        items.append((name, text))
    }
}
