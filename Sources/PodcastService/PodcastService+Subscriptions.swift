internal import Foundation
internal import Logging
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import TransferCore
internal import TransferEngine

// Shows: subscribing, refreshing, renaming, unsubscribing.
extension PodcastService {
    func subscribe(_ url: String, name: String?) async throws -> Reply {
        try Self.checkAddress(url)
        let address = PrivateAddress(url)
        if let known = try library.podcast(url: address.url), !known.ephemeral {
            guard let given = address.credentials, given != credentials[known.id] else {
                throw Self.alreadySubscribed(known.name)
            }
            return try await replaceCredentials(of: known, with: address)
        }
        let task = beginFeedTask(path: address.visible)
        defer { endFeedTask(task) }
        do {
            let result = try await add(
                address, name: name, reach: catalogueSpace(of: address.url), task: task)
            planUpkeep()
            return .subscribed(
                name: result.podcast.name, episodes: result.podcast.episodes, skipped: result.skipped)
        } catch LibraryError.alreadySubscribed(let name) {
            throw Self.alreadySubscribed(name)
        } catch LibraryError.invalidName(let name, let reason) {
            throw Failure(kind: .usage, message: "'\(name)' cannot be a folder's name: \(reason)")
        }
    }

    private static func alreadySubscribed(_ name: String) -> Failure {
        Failure(message: "already subscribed as '\(name)'; to fetch it again: podfs refresh '\(name)'")
    }

    func unsubscribe(_ id: ShowID) throws -> Reply {
        guard let podcast = try library.podcast(id: id) else { throw Failure(message: "there is no such show") }
        let episodes = try library.episodes(of: id).map(\.id)
        for episode in episodes {
            engine.forget(MediaID(episode))
            endTask(episode)
        }
        for rendition in try library.unsubscribe(podcast: id) { engine.removeFile(rendition.file) }
        feeds.forgetJob(id)
        refreshes.rhythms[id] = nil
        try credentials.set(nil, for: id)
        documents.remove(id)
        assets.remove(podcast: id, episodes: Set(episodes))
        broadcastChange(podcast: id, name: podcast.name)
        backUpSoon()
        return .done
    }

    func rename(_ podcast: ShowID?, _ episode: EpisodeID?, _ name: String) throws -> Reply {
        do {
            if let podcast {
                let formerName = try library.podcast(id: podcast)?.name
                try library.renamePodcast(id: podcast, to: name)
                feeds.forgetJob(podcast)
                backUpSoon()
                broadcastChange(podcast: podcast, name: name, formerName: formerName)
                try renameTasks(of: podcast)
            } else if let episode {
                let formerName = try library.place(of: episode)?.name
                let result = try library.renameEpisode(id: episode, to: name)
                broadcastChange(episode: episode, formerName: formerName)
                if let podcast = tasks[episode]?.podcast { try renameTasks(of: podcast) }
                return .text(result)
            }
            return .done
        } catch let error as LibraryError {
            throw Failure(kind: .usage, message: "\(error)")
        }
    }

    /// Tasks are called by where their files are.
    private func renameTasks(of podcast: ShowID) throws {
        guard let show = try library.podcast(id: podcast) else { return }
        for (episode, record) in tasks where record.podcast == podcast {
            guard let place = try library.place(of: episode) else { continue }
            var renamed = record
            renamed.path = "\(show.name)/\(place.name)"
            if renamed.path == record.path { continue }
            tasks[episode] = renamed
            if let snapshot = renamed.snapshot { broadcast(event(.state, snapshot, renamed)) }
        }
    }

    /// The server refuses an episode's address: the feed may have a newer one by now.
    func renewAddress(of episode: EpisodeID) {
        startTask { service in
            var url: String?
            do {
                if let row = try service.library.episode(id: episode),
                    let show = try service.library.refreshSubject(of: row.podcast, evenFound: true)
                {
                    _ = await service.refresh([show], .schedule)
                    url = try service.library.episode(id: episode)?.url
                }
            } catch {
                service.log.error("\(error)")
            }
            service.engine.renew(MediaID(episode), url: url)
            service.considerIdle()
        }
    }

    func beginFeedTask(path: String, kind: TaskInfo.Kind = .refresh) -> TaskID {
        // Numbers of their own below zero: they are not rows.
        let task = TaskInfo(
            id: feeds.newTask(), kind: kind, path: path, episode: nil, state: .running,
            received: 0, expected: nil, rate: nil, error: nil, started: now())
        refreshing[task.id] = task
        tellFeedTask(task, state: .running)
        return task.id
    }

    func endFeedTask(_ task: TaskID) {
        guard let info = refreshing.removeValue(forKey: task) else { return }
        tellFeedTask(info, state: .remote)
    }

    /// Tells how much of a large feed has come; what comes after the task's end is passed over.
    func noteFeedTask(_ task: TaskID, _ progress: FeedProgress) {
        guard var info = refreshing[task], info.received < progress.received else { return }
        info.received = progress.received
        info.expected = progress.expected
        refreshing[task] = info
        var event = Event(sequence: nextSequence(), time: now(), kind: .progress)
        event.task = task
        event.taskKind = info.kind
        event.path = info.path
        event.state = info.state
        event.received = info.received
        event.expected = info.expected
        broadcast(event)
    }

    /// That a task has begun, or has ended.
    func tellFeedTask(_ task: TaskInfo, state: TaskState) {
        var event = Event(sequence: nextSequence(), time: now(), kind: .state)
        event.task = task.id
        event.taskKind = task.kind
        event.path = task.path
        event.state = state
        broadcast(event)
    }
}
