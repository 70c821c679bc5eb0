internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol

// Commands of clients. Each is answered once, by a reply or a failure.
extension PodcastService {
    func perform(_ command: Command, number: UInt32, for client: ClientConnection) async {
        await driver.underWay {
            do {
                client.send(.reply, number: number, try await execute(command, for: client))
            } catch let failure as Failure {
                client.send(failure, number: number)
            } catch let error as SettingError {
                client.send(Failure(kind: .usage, message: error.message), number: number)
            } catch {
                client.send(Failure(message: "\(error)"), number: number)
            }
        }
        if command == .leave { driver.report(.exitRequested) }
    }

    private var allTasks: [TaskInfo] { driver.waitingOpens() + driver.core.list(refresher.feeds.tasks) }

    private func execute(_ command: Command, for client: ClientConnection) async throws -> Reply {
        driver.drainEvents()
        switch command {
        case .subscribe(let url, let name): return try await subscriptions.subscribe(url, name: name)
        case .importShow(let item): return .imported(try await subscriptions.importShow(item, for: client))
        case .unsubscribe(let podcast): return try await subscriptions.unsubscribe(podcast)
        case .refresh(let podcasts): return .refreshed(try await refresher.refresh(podcasts))
        case .rename(let podcast, let episode, let name): return try subscriptions.rename(podcast, episode, name)
        case .renameByTemplate(let podcasts, let isDryRun):
            return try subscriptions.renameByTemplate(podcasts, isDryRun: isDryRun)
        case .inspect(let url): return try await subscriptions.inspect(url)
        case .tasks: return .tasks(allTasks)
        case .status: return .status(TaskList(allTasks, limit: TaskList.limit))
        case .counters: return counters
        case .act(let action, let episodes):
            defer { if action == .download { mover.request() } }
            return try await tasks.act(action, on: episodes)
        case .publish(let request): return try uploads.publish(request)
        case .actOnUploads(let action, let ids): return try uploads.act(action, on: ids)
        case .setPlayed(let episode, let played): return try listening.setPlayed(episode, played)
        case .setPosition(let episode, let seconds): return try listening.setPosition(episode, seconds)
        case .setShowPlayed(let podcast, let played): return try listening.setPlayed(podcast, played)
        case .report(let report): return try listening.report(report)
        case .set(let podcast, let assignments, let confirmed):
            return try subscriptions.set(podcast, assignments, isConfirmed: confirmed ?? false)
        case .setView(let name, let assignments): return try views.set(name, assignments)
        case .removeView(let name): return try views.remove(name)
        case .events(let since): return .events(try library.events(since: since))
        case .openSession(let session): return try tasks.openSession(session, for: client)
        case .createTask(let episode): return try tasks.createTask(episode, for: client)
        case .suspendTask(let episode): return try tasks.suspendTask(episode, for: client)
        case .resumeTask(let episode): return try tasks.resumeTask(episode, for: client)
        case .cancelTask(let episode, let producesResumeData):
            return try await tasks.cancelTask(episode, producesResumeData: producesResumeData, for: client)
        case .continueTask(let data): return try tasks.continueTask(data, for: client)
        case .acknowledge(let sequence): return try tasks.acknowledge(sequence, for: client)
        case .search(let term, _) where term.contains("://"): return try await subscriptions.feeds(at: term)
        case .search(let term, let limit): return try await searches.search(term, limit: limit)
        case .searchFolder(let term): return .foundFolders(try await searches.searchFolder(term))
        case .fetchShow(let podcast): return try await found.fetchShow(podcast)
        case .asset(let kind, let id): return try await subscriptions.assets.asset(kind, id)
        case .verify(let episodes):
            defer { mover.requestReattachment() }
            return try await verifier.verify(episodes)
        case .examineArchived(let episode):
            try await archive.examine(episode)
            mover.folderMayHaveChanged()
            return .done
        case .adopt(let episode, let path, let size): return try await archive.adopt(path, size: size, as: episode)
        case .setTaggedFile(let episode, let rendition, let tagSize, let fingerprint, let skipped, let total):
            let content = TaggedFile.Content(
                rendition: rendition, tagSize: tagSize, fingerprint: fingerprint, skipped: skipped, total: total)
            return .taggedFile(version: try context.library.setTaggedFile(content, of: episode))
        case .syncLogin(let request): return try await sync.logIn(request)
        case .syncNow(let despiteHold): return try await sync.run(despiteHold: despiteHold, for: client)
        case .syncStatus: return .sync(try sync.status())
        case .syncLogout: return try await sync.logOut()
        case .watch, .leave: return .done
        }
    }
}
