internal import Foundation
internal import Logging
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

// What clients ask for by commands. Each is checked, carried out whole or not at all, and answered once.
extension PodcastService {
    func perform(_ command: Command, number: UInt32, for client: ClientConnection) async {
        commandsUnderWay += 1
        do {
            let reply = try await carryOut(command)
            client.send(.reply, number: number, reply)
        } catch let failure as Failure {
            client.send(failure, number: number)
        } catch let failure as FetchFailure {
            client.send(Failure(message: failure.message), number: number)
        } catch {
            client.send(Failure(message: "\(error)"), number: number)
        }
        commandsUnderWay -= 1
        considerIdle()
        if command == .leave { leaveNow() }
    }

    private func carryOut(_ command: Command) async throws -> Reply {
        switch command {
        case .subscribe(let url, let name): return try await subscribe(url, name: name)
        case .unsubscribe(let podcast): return try unsubscribe(podcast)
        case .refresh(let podcasts): return .refreshed(try await refresh(podcasts))
        case .rename(let podcast, let episode, let name): return try rename(podcast, episode, name)
        case .inspect(let url):
            try Self.checkAddress(url)
            guard case .feed(let feed, _) = try await fetcher.fetch(url) else {
                throw Failure(message: "\(RedactedURL.withoutUserInfo(url)): no answer")
            }
            return .text(String(decoding: feed.inspectJSON(), as: UTF8.self))
        case .tasks: return .tasks(taskList())
        case .act(let action, let episodes): return try await act(action, on: episodes)
        case .setPlayed(let episode, let played):
            try library.setPlayed(episode: episode, played, now: now())
            broadcastChange(episode: episode)
            return .done
        case .setPosition(let episode, let seconds):
            try library.setPosition(episode: episode, seconds, now: now())
            broadcastChange(episode: episode)
            return .done
        case .watch, .leave: return .done
        }
    }

    private static func checkAddress(_ url: String) throws {
        guard URLText.isWeb(url) else {
            throw Failure(
                kind: .usage,
                message: "\(RedactedURL.withoutUserInfo(url)) is not an address that podfs can fetch: "
                    + "give the http:// or https:// address of a feed")
        }
    }

    // MARK: Shows

    private func subscribe(_ url: String, name: String?) async throws -> Reply {
        try Self.checkAddress(url)
        if let known = try library.podcast(url: url), !known.ephemeral { throw Self.alreadySubscribed(known.name) }
        let task = beginFeedTask(path: RedactedURL.withoutUserInfo(url))
        defer { endFeedTask(task) }
        let answer = try await fetcher.fetch(url)
        guard case .feed(let feed, let response) = answer else {
            throw Failure(message: "\(RedactedURL.withoutUserInfo(url)): no answer")
        }
        let shown = RedactedURL.withoutUserInfo(url)
        guard !feed.items.isEmpty else {
            throw Failure(message: "\(shown): the feed has no episodes; nothing to subscribe to yet")
        }
        guard feed.items.contains(where: { !$0.enclosures.isEmpty }) else {
            throw Failure(
                message: "\(shown): none of the feed's \(feed.items.count) items has an audio or video file "
                    + "(an enclosure); look for the show's podcast feed")
        }
        let result: MergeResult
        do {
            result = try library.subscribe(
                url: url, feed: feed, name: name, response: response, template: configuration.nameTemplate, now: now())
        } catch LibraryError.alreadySubscribed(let name) {
            throw Self.alreadySubscribed(name)
        } catch LibraryError.invalidName(let name, let reason) {
            throw Failure(kind: .usage, message: "'\(name)' cannot be a folder's name: \(reason)")
        }
        broadcastChange(podcast: result.podcast.id, name: result.podcast.name)
        log.info("subscribed to \(shown) as \(result.podcast.name): \(result.inserted.count) episodes")
        return .subscribed(
            name: result.podcast.name, episodes: result.podcast.episodes, skipped: result.skipped)
    }

    private static func alreadySubscribed(_ name: String) -> Failure {
        Failure(message: "already subscribed as '\(name)'; to fetch it again: podfs refresh '\(name)'")
    }

    private func unsubscribe(_ id: Int64) throws -> Reply {
        guard let podcast = try library.podcast(id: id) else { throw Failure(message: "there is no such show") }
        for episode in try library.episodes(of: id) {
            engine.forget(episode.id)
            endTask(episode.id)
        }
        for rendition in try library.unsubscribe(podcast: id) { engine.removeFile(rendition.file) }
        broadcastChange(podcast: id, name: podcast.name)
        return .done
    }

    private func rename(_ podcast: Int64?, _ episode: Int64?, _ name: String) throws -> Reply {
        do {
            if let podcast {
                try library.renamePodcast(id: podcast, to: name)
                broadcastChange(podcast: podcast, name: name)
            } else if let episode {
                let result = try library.renameEpisode(id: episode, to: name)
                broadcastChange(episode: episode)
                return .text(result)
            }
            return .done
        } catch let error as LibraryError {
            throw Failure(kind: .usage, message: "\(error)")
        }
    }

    private func refresh(_ ids: [Int64]) async throws -> [RefreshResult] {
        let all = try library.podcasts()
        let chosen = ids.isEmpty ? all : all.filter { ids.contains($0.id) }
        var results: [RefreshResult] = []
        // A few at a time, so that one slow server does not hold up the others.
        await withTaskGroup(of: RefreshResult.self) { group in
            var rest = chosen[...]
            for podcast in rest.prefix(Self.feedConnections) { group.addTask { await self.refresh(podcast) } }
            rest = rest.dropFirst(Self.feedConnections)
            for await result in group {
                results.append(result)
                if let next = rest.popFirst() { group.addTask { await self.refresh(next) } }
            }
        }
        return results.sorted { $0.name < $1.name }
    }

    /// Feeds fetched at the same time.
    private static let feedConnections = 8

    private func refresh(_ podcast: Podcast) async -> RefreshResult {
        let task = beginFeedTask(path: podcast.name)
        defer { endFeedTask(task) }
        do {
            switch try await fetcher.fetch(podcast.url, etag: podcast.etag, lastModified: podcast.lastModified) {
            case .notModified(let response):
                try library.notModified(podcast: podcast.id, response: response, now: now())
                return RefreshResult(name: podcast.name, added: 0)
            case .feed(let feed, let response):
                let result = try library.merge(
                    feed: feed, into: podcast.id, response: response, template: configuration.nameTemplate, now: now())
                broadcastChange(podcast: podcast.id, name: podcast.name)
                for episode in result.inserted { runHook(configuration.onNewEpisode, episode: episode) }
                return RefreshResult(name: podcast.name, added: result.inserted.count)
            }
        } catch {
            let status = (error as? FetchFailure)?.status
            try? library.refreshFailed(
                podcast: podcast.id, status: status, error: "\(error)", next: nil, now: now())
            return RefreshResult(name: podcast.name, added: 0, error: "\(error)")
        }
    }

    private func beginFeedTask(path: String) -> Int64 {
        // Numbers of their own below zero: they are not rows.
        lastFeedTask -= 1
        refreshing[lastFeedTask] = TaskInfo(
            id: lastFeedTask, kind: .refresh, path: path, episode: nil, state: TransferState.running.rawValue,
            received: 0, expected: nil, rate: nil, error: nil, started: now())
        broadcastFeedTask(lastFeedTask, path: path, state: TransferState.running.rawValue)
        return lastFeedTask
    }

    private func endFeedTask(_ task: Int64) {
        guard let info = refreshing.removeValue(forKey: task) else { return }
        broadcastFeedTask(task, path: info.path, state: TransferState.remote.rawValue)
    }

    private func broadcastFeedTask(_ task: Int64, path: String, state: String) {
        var event = Event(sequence: nextSequence(), time: now(), kind: .state)
        event.task = task
        event.taskKind = TaskInfo.Kind.refresh.rawValue
        event.path = path
        event.state = state
        broadcast(event)
    }

    // MARK: Tasks

    func taskList() -> [TaskInfo] {
        let downloads = tasks.values.map { record in
            TaskInfo(
                id: record.download.id, kind: .download, path: record.path, episode: record.download.episode,
                state: record.snapshot?.state.rawValue ?? TransferState.queued.rawValue,
                received: record.snapshot?.received ?? 0, expected: record.snapshot?.total,
                rate: record.snapshot?.rate, error: record.snapshot?.error?.message ?? record.download.error,
                started: record.download.created)
        }
        return (downloads + refreshing.values).sorted { $0.id < $1.id }
    }

    private func act(_ action: TaskAction, on episodes: [Int64]) async throws -> Reply {
        var count = 0
        var problems: [String] = []
        for id in episodes {
            guard let episode = try library.episode(id: id) else {
                problems.append("episode \(id) is no longer in the library")
                continue
            }
            if let problem = try await act(action, on: episode) {
                problems.append("\(episode.name): \(problem)")
            } else {
                count += 1
                broadcastChange(episode: id)
            }
        }
        return .acted(count: count, problems: problems)
    }

    /// - Returns: why it could not be done.
    private func act(_ action: TaskAction, on episode: Episode) async throws -> String? {
        switch action {
        case .download, .resume:
            if episode.complete { return nil }
            let download = try library.enqueue(episode: episode.id, session: "podfs", now: now())
            try library.setSuspended(download: download.id, false)
            if tasks[episode.id] == nil {
                tasks[episode.id] = try makeRecord(library.download(of: episode.id) ?? download)
            }
            tasks[episode.id]?.download.error = nil
            engine.setSuspended(episode.id, false, load: loader(episode.id))
            engine.fill(episode.id, load: loader(episode.id))
        case .suspend:
            if episode.complete { return "it is cached already" }
            let download = try library.enqueue(episode: episode.id, session: "podfs", now: now())
            try library.setSuspended(download: download.id, true)
            if tasks[episode.id] == nil {
                tasks[episode.id] = try makeRecord(library.download(of: episode.id) ?? download)
            }
            engine.setSuspended(episode.id, true, load: loader(episode.id))
        case .cancel:
            engine.cancel(episode.id)
            try await removeTask(episode.id)
        case .evict:
            return try await evict(episode)
        case .pin, .unpin:
            try library.setPinned(episode: episode.id, action == .pin, now: now())
        }
        return nil
    }

    private func evict(_ episode: Episode) async throws -> String? {
        if episode.pinned { return "it is pinned; podfs unpin first" }
        guard let rendition = try library.rendition(of: episode.id) else { return nil }
        guard engine.evictFile(rendition.file) else { return "it is open in a program; close it first" }
        engine.forget(episode.id)
        try await removeTask(episode.id)
        try library.dropRendition(episode: episode.id, now: now())
        return nil
    }

    /// Forgets a task that the engine has been told to end.
    ///
    /// After what the engine has said of it until then: an older report would make the task anew.
    private func removeTask(_ episode: Int64) async throws {
        _ = await engine.snapshots()
        await withCheckedContinuation { continuation in
            queue.yield(.marker { continuation.resume() })
        }
        if let download = try library.download(of: episode) { try library.removeDownload(id: download.id) }
        endTask(episode)
    }

    /// Takes a task out of the list and tells those who watch, unless the engine's own report has done so.
    private func endTask(_ episode: Int64) {
        guard let record = tasks.removeValue(forKey: episode) else { return }
        var event = Event(sequence: nextSequence(), time: now(), kind: .state)
        event.task = record.download.id
        event.id = episode
        event.podcast = record.podcast
        event.path = record.path
        event.state = TransferState.remote.rawValue
        broadcast(event)
    }
}
