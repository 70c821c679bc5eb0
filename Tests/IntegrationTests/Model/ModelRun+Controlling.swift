import Glibc
import TestSupport

// Operations that set extended attributes: tasks, pins, and playback state.
extension ModelRun {
    private func set(_ name: String, _ value: String, _ path: [String]) async throws -> Int32 {
        do {
            try await subject.setAttribute(name, value, path)
            return 0
        } catch let error as ModelErrno {
            return error.code
        }
    }

    /// Sets an attribute.
    ///
    /// - Parameter expected: The error numbers that the model permits; 0 stands for success.
    /// - Throws: A difference for any other result.
    mutating func expect(
        _ name: String, _ value: String, _ path: [String], _ expected: Set<Int32>
    ) async throws -> Int32 {
        note("setxattr \(name)=\(value) of \(Self.text(path))")
        var found = try await set(name, value, path)
        // close(2) returns before the mount has handled the RELEASE. Until then an eviction may be refused.
        if found == EBUSY, !expected.contains(EBUSY) {
            try? await waitUntil(description: "the closed file can be evicted") {
                found = try await set(name, value, path)
                return found != EBUSY
            }
        }
        isDaemonAlive = true
        if !expected.contains(found) {
            let names = expected.sorted().map { ModelErrno($0).description }
            throw difference("setxattr \(name)=\(value) of \(Self.text(path)): \(names)", "\(ModelErrno(found))")
        }
        return found
    }

    mutating func control() async throws {
        guard let (episode, path) = anyEpisodeFile() else { return }
        let kind = Int.random(in: 0..<12, using: &generator)
        // After this comparison the kernel caches the link. It must drop the link if the episode leaves the view.
        let link = kind < 4 ? anyLink(to: episode.id) : nil
        if let link { try await compareStatus(link) }
        switch kind {
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
        if let link { try await compareStatus(link) }
    }

    mutating func resume(_ episode: ModelEpisode, _ path: [String]) async throws {
        if episode.item.refusal != nil {
            guard isRefreshed(episode.id) else { return }
            let began = Self.now
            _ = try await expect("user.podfs.task", "resume", path, [0])
            try await waitForRetry()
            _ = try await waitForState(path, ["failed"])
            noteRenewal(episode.id, Self.period(since: began))
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

    /// Waits until podfs has no task to run, because a retry that still runs would interfere with a later edit of the
    /// feed or a kill of the daemon. The attribute of the episode is not enough: it says `failed` from the failure
    /// before until the daemon's event arrives.
    private func waitForRetry() async throws {
        try await waitUntil(description: "the retry has ended") {
            let status = try await subject.home.run("status", "--json").output
            return status.contains("\"running\": 0,") && status.contains("\"queued\": 0,")
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
            // The transfer may have completed just before the command.
            let state = try await waitForState(path, ["suspended", "cached"])
            if found == EBUSY, state != "cached" { throw difference("cached, since it was not suspended", state) }
            if state == "cached" { return change(episode.id) { $0.becomeCached() } }
        }
        change(episode.id) {
            $0.phase = .suspended
            $0.maySuspend = false
        }
    }

    mutating func cancel(_ episode: ModelEpisode, _ path: [String]) async throws {
        _ = try await expect("user.podfs.task", "cancel", path, [0])
        switch episode.phase {
        case .cached, .remote: return changed()
        case .moving:
            let state = try await waitForState(path, ["remote", "cached"])
            if state == "cached" { return change(episode.id) { $0.becomeCached() } }
            // Like every read, readahead, whose times are unpredictable, restarts a cancelled download.
            return change(episode.id) { $0.isSure = false }
        case .suspended, .refused: break
        }
        change(episode.id) {
            $0.phase = .remote
            $0.maySuspend = false
            $0.mayBeForgotten = false
        }
    }

    mutating func waitForState(_ path: [String], _ states: Set<String>) async throws -> String {
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

    /// Applies an action to a whole show.
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
            // On a folder, `cancel` applies to tasks only, and a failure without a task remains. So podfs may or may
            // not forget the failure of a refused episode (one whose file the server refuses).
            for episode in show.episodes where episode.phase == .refused {
                change(episode.id) { $0.mayBeForgotten = true }
            }
        case 2:
            // Refused episodes are retried too. podfs fetches their feed before it records another refusal.
            let refused = show.episodes.filter { $0.phase == .refused }
            if let first = refused.first, !isRefreshed(first.id) { return }
            let began = Self.now
            _ = try await expect("user.podfs.task", "resume", path, [0])
            try await waitForRetry()
            for episode in refused {
                let states: Set = episode.mayBeForgotten ? ["failed", "remote"] : ["failed"]
                _ = try await waitForState(path + [episode.name], states)
            }
            if let first = refused.first { noteRenewal(first.id, Self.period(since: began)) }
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
            for episode in gone {
                // The folder's eviction succeeds although it skips a closed file whose RELEASE is not handled yet.
                _ = try await expect("user.podfs.task", "evict", path + [episode.name], [0])
                noteEviction(episode.id)
            }
        }
    }

    /// Whether the episode is pinned, or open with a lease; `nil` if it is open without one.
    private func isKept(_ episode: ModelEpisode) -> Bool? {
        let open = files.filter { $0.episode == episode.id }
        if episode.isPinned || open.contains(where: \.hasLease) { return true }
        return open.isEmpty ? false : nil
    }

    mutating func noteEviction(_ id: Int64) {
        for index in files.indices where files[index].episode == id { files[index].hasLease = false }
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
        // Only the daemon knows whether a cancelled task has left a file.
        if episode.phase == .remote, episode.mayHaveFile {
            let found = try await expect("user.podfs.task", "evict", path, [0, EBUSY])
            if found == 0 { noteEviction(episode.id) }
            return
        }
        // Only the daemon knows whether it counts the episode as open. If so, it refuses even without a cache file.
        let isOpen = files.contains { $0.episode == episode.id }
        let isKept = episode.phase == .cached || episode.isPinned ? isKept(episode) : isOpen ? nil : false
        let expected: Set<Int32> = isKept.map { [$0 ? EBUSY : 0] } ?? [0, EBUSY]
        let found = try await expect("user.podfs.task", "evict", path, expected)
        if found == 0, episode.phase == .cached { noteEviction(episode.id) }
    }

    mutating func controlBadly() async throws {
        let path = try await chance(60) ? (anyEpisodeFile()?.1 ?? []) : anyPath()
        guard let node = tree.node(at: path), node.kind != .link else { return }
        let isEpisode = node.inode >> 58 == 2 || node.inode >> 58 == 29
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
        // The kernel itself refuses attributes that only root may set.
        _ = try await expect(name, value, path, name.hasPrefix("trusted.") ? [expected, EPERM] : [expected])
        isDaemonAlive = wasAlive
    }
}
