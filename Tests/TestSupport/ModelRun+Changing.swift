import Glibc

// Operations that change what is to be expected.
extension ModelRun {
    // MARK: Control

    private func set(_ name: String, _ value: String, _ path: [String]) async throws -> Int32 {
        do {
            try await subject.setAttribute(name, value, path)
            return 0
        } catch let error as ModelErrno {
            return error.code
        }
    }

    private mutating func expect(
        _ name: String, _ value: String, _ path: [String], _ expected: Set<Int32>
    ) async throws -> Int32 {
        note("setxattr \(name)=\(value) of \(Self.text(path))")
        let found = try await set(name, value, path)
        isDaemonAlive = true
        if !expected.contains(found) {
            let names = expected.sorted().map { ModelErrno($0).description }
            throw difference("setxattr \(name)=\(value) of \(Self.text(path)): \(names)", "\(ModelErrno(found))")
        }
        return found
    }

    mutating func control() async throws {
        guard let (episode, path) = anyEpisode() else { return }
        switch Int.random(in: 0..<12, using: &generator) {
        case 0:
            let value = chance(50)
            _ = try await expect("user.podfs.played", value ? "1" : chance(50) ? "0" : " 0\n", path, [0])
            let isPlayed = value
            change(episode.id) { $0.isPlayed = isPlayed }
        case 1:
            let seconds = chance(50) ? Double(Int.random(in: 0...9_000, using: &generator)) : 12.5
            let text = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
            _ = try await expect("user.podfs.position", text, path, [0])
            change(episode.id) { $0.position = seconds }
        case 2, 3:
            let pins = chance(40)
            _ = try await expect("user.podfs.task", pins ? "pin" : "unpin", path, [0])
            change(episode.id) { $0.isPinned = pins }
        case 4, 5, 6: try await resume(episode, path)
        case 7, 8: try await suspend(episode, path)
        case 9, 10: try await cancel(episode, path)
        default: try await controlShow()
        }
    }

    private mutating func resume(_ episode: ModelEpisode, _ path: [String]) async throws {
        if episode.item.refusal != nil {
            guard isRefreshed(episode.id) else { return }
            let began = Self.now
            _ = try await expect("user.podfs.task", "resume", path, [0])
            _ = try await waitForState(path, ["failed"])
            noteRenewal(episode.id, began...Self.now)
        } else {
            _ = try await expect("user.podfs.task", "resume", path, [0])
        }
        change(episode.id) {
            switch $0.phase {
            case .cached: break
            case _ where $0.item.refusal != nil:
                $0.phase = .refused
                $0.mayBeForgotten = false
            default: $0.becomeMoving()
            }
        }
    }

    private mutating func suspend(_ episode: ModelEpisode, _ path: [String]) async throws {
        if episode.item.refusal != nil { return }
        if episode.phase == .moving, chance(70) { try await settle() }
        guard let episode = library[episode: episode.id] else { return }
        let expected: Set<Int32> = episode.phase == .cached ? [EBUSY] : episode.phase == .moving ? [0, EBUSY] : [0]
        let found = try await expect("user.podfs.task", "suspend", path, expected)
        if episode.phase == .cached { return }
        if episode.phase == .moving {
            // It may have come to its end just before.
            let state = try await waitForState(path, ["suspended", "cached"])
            if found == EBUSY, state != "cached" { throw difference("cached, since it was not suspended", state) }
            if state == "cached" { return change(episode.id) { $0.becomeCached() } }
        }
        change(episode.id) {
            $0.phase = .suspended
            $0.maySuspend = false
        }
    }

    private mutating func cancel(_ episode: ModelEpisode, _ path: [String]) async throws {
        _ = try await expect("user.podfs.task", "cancel", path, [0])
        switch episode.phase {
        case .cached, .remote: return changed()
        case .moving:
            let state = try await waitForState(path, ["remote", "cached"])
            if state == "cached" { return change(episode.id) { $0.becomeCached() } }
            if subject.readsAhead { return change(episode.id) { $0.isSure = false } }
        case .suspended, .refused: break
        }
        change(episode.id) {
            $0.phase = .remote
            $0.maySuspend = false
            $0.mayBeForgotten = false
        }
    }

    private mutating func waitForState(_ path: [String], _ states: Set<String>) async throws -> String {
        let end = ContinuousClock.now.advanced(by: Self.patience)
        while true {
            let state = try await subject.attribute("user.podfs.state", path)
            if states.contains(state) {
                note("\(Self.text(path)) is \(state)")
                return state
            }
            if ContinuousClock.now >= end { throw difference("\(Self.text(path)) to be \(states.sorted())", state) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// An action on all of a show.
    private mutating func controlShow() async throws {
        guard let show = pick(library.shows) else { return }
        try await settle()
        let path = [show.name]
        guard let show = library[show: show.id] else { return }
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            let pins = chance(30)
            _ = try await expect("user.podfs.task", pins ? "pin" : "unpin", path, [0])
            for episode in show.episodes { change(episode.id) { $0.isPinned = pins } }
        case 1:
            _ = try await expect("user.podfs.task", "cancel", path, [0])
            for episode in show.episodes where episode.phase == .suspended {
                change(episode.id) { $0.phase = .remote }
            }
            // Failures that nobody has a task of stay: the folder stands for what is in transfer.
            for episode in show.episodes where episode.phase == .refused {
                change(episode.id) { $0.mayBeForgotten = true }
            }
        case 2:
            _ = try await expect("user.podfs.task", "resume", path, [0])
            for episode in show.episodes where episode.phase == .suspended {
                change(episode.id) { $0.becomeMoving() }
            }
        default:
            let whole = show.episodes.filter { $0.phase == .cached }
            let parts = show.episodes.filter { $0.phase != .cached && $0.mayHaveFile }
            if !parts.isEmpty || whole.contains(where: { isKept($0) == nil }) { return }
            let gone = whole.filter { isKept($0) == false }
            let allKept = !whole.isEmpty && gone.isEmpty
            _ = try await expect("user.podfs.task", "evict", path, [allKept ? EBUSY : 0])
            for episode in gone { noteEviction(episode.id) }
        }
    }

    /// Pinned, or open with its bytes; `nil` when the latter cannot be told.
    private func isKept(_ episode: ModelEpisode) -> Bool? {
        let leases = files.filter { $0.episode == episode.id }.map(\.lease)
        if episode.isPinned || leases.contains(.certain) { return true }
        return leases.contains(.possible) ? nil : false
    }

    private mutating func noteEviction(_ id: Int64) {
        for index in files.indices where files[index].episode == id { files[index].lease = .none }
        change(id) {
            let wasCertain = $0.phase == .cached
            let upper = $0.generation.upperBound + 1
            $0.generation = (wasCertain ? $0.generation.lowerBound + 1 : $0.generation.lowerBound)...upper
            $0.becomeEvicted()
        }
    }

    mutating func evict() async throws {
        try await settle()
        guard let (episode, path) = anyEpisode({ $0.phase == .cached || $0.phase == .remote }) else { return }
        // A part that was left: whether there is a file of it is known to the daemon alone.
        if episode.phase == .remote, episode.mayHaveFile {
            let found = try await expect("user.podfs.task", "evict", path, [0, EBUSY])
            if found == 0 { noteEviction(episode.id) }
            return
        }
        let isKept = episode.phase == .cached ? isKept(episode) : episode.isPinned
        let expected: Set<Int32> = isKept.map { [$0 ? EBUSY : 0] } ?? [0, EBUSY]
        let found = try await expect("user.podfs.task", "evict", path, expected)
        if found == 0, episode.phase == .cached { noteEviction(episode.id) }
    }

    mutating func controlBadly() async throws {
        let path = chance(60) ? (anyEpisode()?.1 ?? []) : anyPath()
        guard let node = tree.node(at: path), node.kind != .link else { return }
        let isEpisode = node.inode >> 58 == 2
        let isFolderOfTasks = node.inode >> 58 == 1 || path.isEmpty
        var cases: [(String, String, Int32)] = [
            ("user.podfs.task", "explode", EINVAL), ("user.podfs.task", "", EINVAL),
            ("user.podfs.task", "download", EINVAL), ("user.podfs.task", "resume evict", EINVAL),
            ("user.podfs.played", "2", EINVAL), ("user.podfs.played", "yes", EINVAL),
            ("user.podfs.position", "-1", EINVAL), ("user.podfs.position", "soon", EINVAL),
            ("user.podfs.position", "nan", EINVAL), ("user.podfs.position", "inf", EINVAL),
            ("user.podfs.state", "cached", EROFS), ("user.comment", "x", EROFS), ("trusted.x", "y", EROFS),
        ]
        if isEpisode { cases.append(("user.podfs.task", "refresh", EINVAL)) }
        if !isEpisode { cases.append(("user.podfs.played", "1", EINVAL)) }
        if !isEpisode, !isFolderOfTasks { cases.append(("user.podfs.task", "resume", EINVAL)) }
        guard let (name, value, expected) = pick(cases) else { return }
        let wasAlive = isDaemonAlive
        // The kernel answers for attributes that only root may have.
        _ = try await expect(name, value, path, name.hasPrefix("trusted.") ? [expected, EPERM] : [expected])
        isDaemonAlive = wasAlive
    }

    mutating func modify() async throws {
        let path = anyPath()
        guard let modification = pick(ModelModification.allCases) else { return }
        note("\(modification) \(Self.text(path))")
        if let found = try await subject.modify(modification, path) {
            let isRefused = found.code == EROFS || found.code == EPERM
            if !isRefused {
                throw difference("\(modification) \(Self.text(path)): \(ModelErrno(EROFS))", "\(found)")
            }
        }
        try await compareStatus(path)
    }

    // MARK: Feeds

    mutating func addShow() async throws {
        let feed = publication.addFeed(items: Int.random(in: 4...14, using: &generator), using: &generator)
        note("subscribe to \(feed.title)")
        let began = Self.now
        let result = try await subject.home.run("subscribe", publication.url(feed.path))
        if result.exitCode != 0 { throw difference("a subscription", result.error) }
        let server = publication.server
        library.subscribe(feed, document: feed.text { server.url($0) }, during: began...Self.now)
        isDaemonAlive = true
        changed()
    }

    mutating func changeSubscriptions() async throws {
        if library.shows.count < 3 || library.shows.count < 5 && chance(50) { return try await addShow() }
        guard let show = pick(library.shows) else { return }
        try await settle()
        for open in files where show.episodes.contains(where: { $0.id == open.episode }) {
            try await subject.close(open.file)
        }
        files.removeAll { open in show.episodes.contains { $0.id == open.episode } }
        for folder in folders where folder.path.first == show.name { try await subject.closeFolder(folder.folder) }
        folders.removeAll { $0.path.first == show.name }
        note("unsubscribe \(show.name)")
        let result = try await subject.home.run("unsubscribe", show.name)
        if result.exitCode != 0 { throw difference("the end of a subscription", result.error) }
        library.unsubscribe(show.id)
        isDaemonAlive = true
        changed()
        try await compareStatus([show.name])
        if let episode = pick(show.episodes) { try await compareStatus([show.name, episode.name]) }
    }

    /// The publisher changes something. Nobody knows before a refresh.
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
                // Of one that nobody has seen yet.
                feed.items[index].stem = feed.items[index].title
            case 3, 4:
                // A file that was replaced by another one has another address.
                feed.items[index].version += 1
                feed.items[index].size = size
                feed.items[index].length = size
            case 5: feed.items[index].length = size
            case 6: feed.items[index].notes = feed.items[index].notes == nil ? "" : nil
            case 7: feed.items[index].duration = size / 20_000 + 1
            case 8: feed.title = "Title \(version)"
            case 9:
                // The others share their title with older ones, and could be taken for these.
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
        // What is open goes on with the file that it was opened of, and of a part of that file nothing can be said but
        // that it ends: neither is there when the feed names another one.
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
        let moment = began...Self.now
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
            renamed.changed = show.changed.lowerBound...Self.now
            library[show: show.id] = renamed
            changed()
            for index in folders.indices where folders[index].path.first == show.name { folders[index].path[0] = stem }
            for index in files.indices where files[index].path.first == show.name { files[index].path[0] = stem }
            try await compareStatus([show.name])
        } else if let episode = pick(show.episodes) {
            note("rename \(show.name)/\(episode.name) to \(stem)")
            let result = try await subject.home.run("rename", "\(show.name)/\(episode.name)", stem)
            if result.exitCode != 0 { throw difference("another name", result.error) }
            change(episode.id) { $0.name = "\(stem).\($0.item.kind.fileExtension)" }
            try await compareStatus([show.name, episode.name])
        }
        isDaemonAlive = true
    }

    // MARK: Processes

    /// Waits until what is being fetched is whole.
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
            // What was under way goes on with the next daemon if it was written down, else when somebody asks again.
            if episode.phase == .moving { change(episode.id) { $0.isSure = false } }
            if episode.phase == .refused { change(episode.id) { $0.mayBeForgotten = true } }
        }
        isDaemonAlive = false
        if inTransfer, let (episode, path) = anyEpisode() {
            // Somebody asks for something: a daemon is started for it.
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
        tree.started = began...Self.now
        for episode in library.episodes where episode.phase == .refused {
            change(episode.id) { $0.mayBeForgotten = true }
        }
        isDaemonAlive = true
        changed()
    }
}
