import Glibc
import TestSupport

// Operations that change the feeds, the library or the processes.
extension ModelRun {
    // MARK: Feeds

    mutating func addShow() async throws {
        let feed = publication.addFeed(items: Int.random(in: 4...14, using: &generator), using: &generator)
        note("subscribe to \(feed.title)")
        let began = Self.now
        let result = try await subject.home.run("subscribe", publication.url(feed.path))
        if result.exitCode != 0 { throw difference("a subscription", result.error) }
        let server = publication.server
        library.subscribe(feed, document: feed.text { server.url($0) }, during: Self.period(since: began))
        isDaemonAlive = true
        changed()
        guard feed.hasCover, var show = library.shows.first(where: { $0.feed.number == feed.number }) else { return }
        // The daemon fetches the cover by itself. This is the show's last change.
        show.hasCoverCached = true
        show.changed = began...Self.now + Self.patience.components.seconds
        library[show: show.id] = show
        try await compareStatus([show.name, "cover.jpg"])
        show.changed = began...Self.now
        library[show: show.id] = show
    }

    mutating func changeSubscriptions() async throws {
        if library.shows.count < 3 || library.shows.count < 5 && chance(50) { return try await addShow() }
        guard let show = pick(library.shows) else { return }
        try await settle()
        for open in files where show.episodes.contains(where: { $0.id == open.episode }) {
            try await subject.close(open.file)
        }
        files.removeAll { open in show.episodes.contains { $0.id == open.episode } }
        for folder in folders where Self.isInside(folder.path, show) { try await subject.closeFolder(folder.folder) }
        folders.removeAll { Self.isInside($0.path, show) }
        note("unsubscribe \(show.name)")
        let result = try await subject.home.run("unsubscribe", show.name)
        if result.exitCode != 0 { throw difference("the end of a subscription", result.error) }
        library.unsubscribe(show.id)
        isDaemonAlive = true
        changed()
        for path in [[show.name], ["Tagged", show.name]] {
            try await compareStatus(path)
            if let episode = pick(show.episodes) { try await compareStatus(path + [episode.name]) }
        }
    }

    /// Whether a path is the show's folder, its folder in `Tagged`, or below either.
    private static func isInside(_ path: [String], _ show: ModelShow) -> Bool {
        path.drop { $0 == "Tagged" }.first == show.name
    }

    /// Changes a feed on its server. This has no effect on podfs before it refreshes the feed.
    mutating func edit() {
        guard let show = pick(library.shows) else { return }
        let number = show.feed.number
        let kind = Int.random(in: 0..<12, using: &generator)
        note("edit feed \(number), \(kind)")
        if kind < 2 {
            let item = publication.newItem(using: &generator)
            if publication[feed: number].items.count < 40 { publication.edit(number) { $0.items.insert(item, at: 0) } }
            return
        }
        let feed = publication[feed: number]
        let size = Int.random(in: 11_000...300_000, using: &generator)
        guard let index = feed.items.indices.randomElement(using: &generator) else { return }
        let version = counts.values.reduce(0, +)
        publication.edit(number) { feed in
            switch kind {
            case 2:
                feed.items[index].title = "Retitled \(version) of \(feed.items[index].number)"
                // The stem has no effect if the library already has the item: existing files keep their names.
                feed.items[index].stem = feed.items[index].title
            case 3, 4:
                // A replaced file has another address.
                feed.items[index].version += 1
                feed.items[index].size = size
                feed.items[index].length = size
            case 5: feed.items[index].length = size
            case 6: feed.items[index].notes = feed.items[index].notes == nil ? "" : nil
            case 7: feed.items[index].duration = size / 20_000 + 1
            case 8: feed.title = "Title \(version)"
            case 9:
                // The item needs a unique title: otherwise podfs could match it to an older item.
                let isAlone = feed.items[index].title.hasSuffix(" \(feed.items[index].number)")
                if isAlone { feed.items[index].isListed.toggle() }
            case 10: feed.refusal = feed.refusal == nil ? 404 : nil
            default: feed.items[index].chapters = feed.items[index].chapters.isEmpty ? ["New"] : []
            }
            if feed.items[index].notes == "" {
                feed.items[index].notes = "Notes of \(feed.items[index].number) with <b>bold</b> words, again"
            }
        }
    }

    mutating func refresh() async throws {
        guard let show = pick(library.shows) else { return }
        try await settle()
        let feed = publication[feed: show.feed.number]
        // An open file refers to the rendition that was current when it was opened. If the feed replaces a partly
        // cached rendition, later reads of such a file are not predictable. So before the refresh, the episode's open
        // files are closed and its cached bytes are evicted.
        for episode in library[show: show.id]?.episodes ?? [] where episode.phase != .cached {
            let isOther = feed.items.contains {
                $0.number == episode.item.number && ModelLibrary.isOther(episode.item, $0)
            }
            guard isOther else { continue }
            for open in files where open.episode == episode.id { try await subject.close(open.file) }
            files.removeAll { $0.episode == episode.id }
            guard episode.mayHaveFile else { continue }
            let path = [show.name, episode.name]
            try await cancel(episode, path)
            let found = try await expect("user.podfs.task", "evict", path, [0, EBUSY])
            if found == EBUSY { return }
            noteEviction(episode.id)
        }
        let began = Self.now
        _ = try await expect("user.podfs.task", "refresh", [show.name], [feed.refusal == nil ? 0 : EIO])
        let moment = Self.period(since: began)
        if let refusal = feed.refusal {
            library.refreshFailed(show.id, status: refusal, during: moment)
        } else {
            let server = publication.server
            library.refresh(show.id, feed, document: feed.text { server.url($0) }, during: moment)
        }
        changed()
    }

    mutating func rename() async throws {
        try await settle()
        guard let show = pick(library.shows) else { return }
        let stem = "Renamed \(number)"
        if chance(50) {
            note("rename \(show.name) to \(stem)")
            let result = try await subject.home.run("rename", show.name, stem)
            if result.exitCode != 0 { throw difference("another name", result.error) }
            var renamed = show
            renamed.name = stem
            renamed.changed = Self.period(since: show.changed.lowerBound)
            library[show: show.id] = renamed
            changed()
            func moved(_ path: [String]) -> [String] {
                Self.isInside(path, show) ? path.map { $0 == show.name ? stem : $0 } : path
            }
            for index in folders.indices { folders[index].path = moved(folders[index].path) }
            for index in files.indices { files[index].path = moved(files[index].path) }
            try await compareStatus([show.name])
            for name in [show.name, stem] { try await compareStatus(["Tagged", name]) }
        } else if let episode = pick(show.episodes) {
            note("rename \(show.name)/\(episode.name) to \(stem)")
            let result = try await subject.home.run("rename", "\(show.name)/\(episode.name)", stem)
            if result.exitCode != 0 { throw difference("another name", result.error) }
            change(episode.id) { $0.name = "\(stem).\($0.item.kind.fileExtension)" }
            // While the episode is open, its former name remains valid.
            if !files.contains(where: { $0.episode == episode.id }) {
                try await compareStatus([show.name, episode.name])
            }
            try await compareStatus(["Tagged", show.name, episode.name])
        }
        isDaemonAlive = true
    }

    // MARK: Processes

    /// Resumes transfers that may have stopped, and waits until all are complete.
    mutating func settle() async throws {
        for episode in library.episodes where episode.phase == .moving {
            guard let show = library.show(of: episode.id) else { continue }
            let path = [show.name, episode.name]
            if !episode.isSure { try await resume(episode, path) }
            _ = try await waitForState(path, ["cached"])
            change(episode.id) { $0.becomeCached() }
        }
    }

    mutating func killDaemon() async throws {
        let inTransfer = chance(50)
        if !inTransfer { try await sweep() }
        note("kill -9 of the daemon")
        subject.home.killDaemon()
        for episode in library.episodes {
            // The next daemon resumes a persisted transfer by itself, any other one only when it is requested again.
            if episode.phase == .moving { change(episode.id) { $0.isSure = false } }
            if episode.phase == .refused { change(episode.id) { $0.mayBeForgotten = true } }
        }
        isDaemonAlive = false
        if inTransfer, let (episode, path) = anyEpisode() {
            // Any request starts a daemon.
            _ = try await expect("user.podfs.played", episode.isPlayed ? "1" : "0", path, [0])
        }
        changed()
    }

    mutating func remount() async throws {
        try await closeAll()
        if chance(50) { try await settle() }
        note("remount")
        let began = Self.now
        try await subject.remount()
        tree.started = Self.period(since: began)
        for episode in library.episodes where episode.phase == .refused {
            change(episode.id) { $0.mayBeForgotten = true }
        }
        isDaemonAlive = true
        changed()
    }
}
