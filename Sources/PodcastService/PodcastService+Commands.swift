internal import Foundation
internal import Glibc
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
            let reply = try await carryOut(command, for: client)
            // It may have freed space, or taken away what waited for it.
            if lacksSpace { makeRoom() }
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

    private func carryOut(_ command: Command, for client: ClientConnection) async throws -> Reply {
        takeEvents()
        switch command {
        case .subscribe(let url, let name): return try await subscribe(url, name: name)
        case .importShow(let item): return .imported(try await importShow(item, for: client))
        case .unsubscribe(let podcast): return try unsubscribe(podcast)
        case .refresh(let podcasts): return .refreshed(try await refresh(podcasts))
        case .rename(let podcast, let episode, let name): return try rename(podcast, episode, name)
        case .inspect(let url):
            try Self.checkAddress(url)
            guard
                case .feed(let feed, _) = try await fetcher.fetch(
                    url, reach: nil, credentials: PrivateAddress(url).credentials ?? netrc.credentials(for: url))
            else {
                throw Failure(message: "\(PrivateAddress(url).visible): no answer")
            }
            return .text(String(decoding: feed.inspectJSON(), as: UTF8.self))
        case .tasks: return .tasks(taskList())
        case .act(let action, let episodes): return try await act(action, on: episodes)
        case .publish(let request): return try publish(request)
        case .actOnUploads(let action, let ids): return try act(action, onUploads: ids)
        case .setPlayed(let episode, let played):
            try library.setPlayed(episode: episode, played, now: now())
            broadcastChange(episode: episode)
            planUpkeep()
            return .done
        case .setPosition(let episode, let seconds):
            guard (0...Double(SyncedState.longest)).contains(seconds) else {
                throw Failure(
                    kind: .usage, errorNumber: EINVAL,
                    message: "a position is a number of seconds from 0 to \(SyncedState.longest)")
            }
            try library.setPosition(episode: episode, seconds, now: now())
            broadcastChange(episode: episode)
            planUpkeep()
            return .done
        case .set(let podcast, let assignments, let confirmed):
            return try set(podcast, assignments, isConfirmed: confirmed ?? false)
        case .events(let since): return .events(try keptEvents(since: since))
        case .openSession(let session): return try openSession(session, for: client)
        case .createTask(let episode): return try createTask(episode, for: client)
        case .suspendTask(let episode): return try suspendTask(episode, for: client)
        case .resumeTask(let episode): return try await resumeTask(episode, for: client)
        case .cancelTask(let episode, let producesResumeData):
            return try await cancelTask(episode, producesResumeData: producesResumeData, for: client)
        case .continueTask(let data): return try continueTask(data, for: client)
        case .acknowledge(let sequence): return try acknowledge(sequence, for: client)
        case .search(let term, let limit): return try await search(term, limit: limit)
        case .searchFolder(let term): return .foundFolders(try await searchFolder(term))
        case .fetchShow(let podcast): return try await fetchShow(podcast)
        case .asset(let kind, let id): return try await asset(kind, id)
        case .verify(let episodes): return try await verify(episodes)
        case .syncLogin(let request): return try await syncLogin(request)
        case .syncNow(let despiteHold): return try await syncNow(despiteHold: despiteHold, for: client)
        case .syncStatus: return .sync(try syncStatus())
        case .syncLogout: return try await syncLogout()
        case .watch, .leave: return .done
        }
    }

    static func checkAddress(_ url: String) throws {
        guard URLReference.isHTTP(url) else {
            throw Failure(
                kind: .usage,
                message: "\(PrivateAddress(url).visible) is not an address that podfs can fetch: "
                    + "give the http:// or https:// address of a feed")
        }
    }
}
