internal import Foundation
internal import Logging
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

// Shows: subscribing, refreshing, renaming, unsubscribing.
extension PodcastService {
    func subscribe(_ url: String, name: String?) async throws -> Reply {
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
        backUpSoon()
        log.info("subscribed to \(shown) as \(result.podcast.name): \(result.inserted.count) episodes")
        return .subscribed(
            name: result.podcast.name, episodes: result.podcast.episodes, skipped: result.skipped)
    }

    private static func alreadySubscribed(_ name: String) -> Failure {
        Failure(message: "already subscribed as '\(name)'; to fetch it again: podfs refresh '\(name)'")
    }

    func unsubscribe(_ id: Int64) throws -> Reply {
        guard let podcast = try library.podcast(id: id) else { throw Failure(message: "there is no such show") }
        for episode in try library.episodes(of: id) {
            engine.forget(episode.id)
            endTask(episode.id)
        }
        for rendition in try library.unsubscribe(podcast: id) { engine.removeFile(rendition.file) }
        broadcastChange(podcast: id, name: podcast.name)
        backUpSoon()
        return .done
    }

    func rename(_ podcast: Int64?, _ episode: Int64?, _ name: String) throws -> Reply {
        do {
            if let podcast {
                try library.renamePodcast(id: podcast, to: name)
                backUpSoon()
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

    func refresh(_ ids: [Int64]) async throws -> [RefreshResult] {
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
                let updated = Set(result.updated)
                for episode in Set(tasks.keys).union(openEpisodes()) where updated.contains(episode) {
                    if let url = try library.episode(id: episode)?.url { engine.setSource(episode, url: url) }
                }
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

    /// The server refuses an episode's address: the feed may have a newer one by now.
    func renewAddress(of episode: Int64) {
        Task {
            var url: String?
            do {
                if let row = try library.episode(id: episode), let podcast = try library.podcast(id: row.podcast) {
                    _ = await refresh(podcast)
                    url = try library.episode(id: episode)?.url
                }
            } catch {
                log.error("\(error)")
            }
            engine.renew(episode, url: url)
            considerIdle()
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
}
