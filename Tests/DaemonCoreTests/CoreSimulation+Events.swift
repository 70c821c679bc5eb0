import Platform
import PodcastProtocol
import TestSupport
import Testing

@testable import PodcastService
@testable import Transfers

// The random events of the simulation: reports of the engine, commands of clients, changes of the disk and of the
// clocks.
extension CoreSimulation {
    // MARK: The engine

    mutating func report(_ media: MediaID) {
        guard let transfer = transfers[media] else { return }
        let state: TaskState =
            transfer.hasFailed
            ? .failed
            : transfer.isSuspended || hasStopped
                ? .suspended
                : transfer.awaitsSpace ? .queued : .running
        facts.append(
            .progress(
                DownloadSnapshot(
                    key: media, generation: 1, state: state, received: transfer.received, total: Self.size,
                    isTask: true, isWaitingForSpace: transfer.awaitsSpace)))
    }

    /// Writes the engine's events. If one cannot be written, it stays queued with all later events of the same file.
    /// Reports the number of unwritten events to the core.
    mutating func takeFacts() throws {
        let taken = facts
        facts = []
        var stuck: [Fact] = []
        for fact in taken {
            guard !stuck.contains(where: { $0.media == fact.media }) else {
                stuck.append(fact)
                continue
            }
            do {
                try take(fact)
            } catch is Rejected {
                stuck.append(fact)
            }
        }
        facts = stuck + facts
        hasFailedFacts = !stuck.isEmpty
        try handle(.unwritten(stuck.count))
    }

    mutating func take(_ fact: Fact) throws {
        switch fact {
        case .progress(let snapshot):
            let media = snapshot.key
            let isKnown = core.tasks.downloads[media] != nil || !snapshot.isTask
            try change { rows, last in
                (isKnown ? [] : [Self.register(media, &rows, &last, asked: nil)]) + [.reported(snapshot)]
            }
        case .completed(let media): try change { _, _ in [.completed(media, generation: 1, size: Self.size)] }
        case .failed(let media): try change { _, _ in [.failed(media, TransferError(.failed, "broken"))] }
        }
    }

    /// Adds a row for the file if there is none, otherwise updates it, as the library's `enqueue` does. Returns the
    /// input that registers the task.
    static func register(
        _ media: MediaID, _ rows: inout [TaskID: Row], _ last: inout Int64, asked: WallTime?,
        session: String = ClientSession.common
    ) -> Input {
        let known = rows.first { $0.value.media == media }
        if known == nil { last += 1 }
        let id = known?.key ?? TaskID(last)
        var row = known?.value ?? Row(media: media, session: session)
        if asked != nil { row.hasFailed = false }
        rows[id] = row
        let snapshot = DownloadSnapshot(
            key: media, generation: 1, state: row.isSuspended ? .suspended : .queued, received: 0,
            total: Self.size, isTask: true)
        return .registered(
            RegisteredDownload(
                id: id, show: 1, path: "Show/\(media)", session: row.session, isSuspended: row.isSuspended,
                created: .seconds(1), asked: .seconds(1), snapshot: snapshot, recordedBytes: 0), asked: asked)
    }

    mutating func moveTransfer() throws {
        guard let media = transfers.keys.sorted().randomElement(using: &random) else { return }
        try move(media)
    }

    mutating func move(_ media: MediaID) throws {
        guard var transfer = transfers[media] else { return }
        let mayMove = !transfer.isSuspended && !transfer.hasFailed && !transfer.awaitsSpace && !hasStopped
        guard mayMove else { return }
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            transfer.hasFailed = true
            transfers[media] = transfer
            facts.append(.failed(media))
            report(media)
        case 1 where diskFree < 100:
            hasStopped = true
            for media in transfers.keys.sorted() { report(media) }
            try handle(.writeFailed(free: diskFree))
        default:
            transfer.received = min(Self.size, transfer.received + Int64.random(in: 1...60, using: &random))
            transfers[media] = transfer
            guard transfer.received == Self.size else { return report(media) }
            transfers[media] = nil
            facts.append(.completed(media))
            var snapshot = DownloadSnapshot(
                key: media, generation: 1, state: .cached, received: Self.size, total: Self.size,
                isTask: false)
            snapshot.generation = 1
            facts.append(.progress(snapshot))
        }
    }

    mutating func plan(_ evicted: inout [Input]) -> StoragePlan {
        let snapshot = StorageSnapshot(
            used: Int64(cached.count) * Self.size + transfers.values.reduce(0) { $0 + $1.received },
            diskTotal: 10_000, diskFree: diskFree, transfers: core.tasks.storageTransfers(open: []),
            files: cached.sorted().map { StorageFile(id: "\($0)", bytes: Self.size, lastUse: .seconds(0)) })
        let plan = core.space.plan(for: snapshot)
        let files = cached.filter { plan.evictions.contains("\($0)") }
        cached.subtract(files)
        evicted = files.sorted().map { .evicted($0) }
        return plan
    }

    /// Cancels a task: removes its transfer from the engine, writes the queued events, and removes its row. If the
    /// events cannot be written or the row cannot be removed, restores the transfer. Does nothing if the file is
    /// complete.
    mutating func end(_ media: MediaID) throws {
        guard !cached.contains(media) else { return }
        let transfer = transfers.removeValue(forKey: media)
        try takeFacts()
        guard !facts.contains(where: { $0.media == media }) else {
            transfers[media] = transfer
            return
        }
        do {
            try change { rows, _ in
                rows = rows.filter { $0.value.media != media }
                return [.ended(media)]
            }
        } catch is Rejected {
            // The command fails; the task remains, and can be cancelled again.
            transfers[media] = transfer
        }
    }

    // MARK: Events

    mutating func randomEvent() throws {
        let media = MediaID(Int64.random(in: 1...8, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<8: try connect()
        case 8..<14: try disconnect()
        case 14..<30: try command(media)
        case 30..<34: try answerCommand()
        case 34..<38: try hold(media)
        case 38..<40:
            isFetching.toggle()
            try handle(.fetching(isFetching))
        case 40..<44: diskFree = random.pick(0, 50, 1_000)
        case 44..<48: failureRate = random.pick(0, 0, 30)
        case 48..<52:
            if isReadingConditions {
                isReadingConditions = false
                try handle(.conditions(allowDiscretionary: random.chance(50)))
            }
        case 52..<56: try handle(.changedEpisode(media.episode), .changedEpisode(media.episode))
        case 56..<66: try pass(.milliseconds(Int64.random(in: 1...400_000, using: &random)))
        case 66..<67: wall -= .seconds(Int64.random(in: 0...100_000, using: &random))
        default: try moveTransfer()
        }
        try perform()
        if random.chance(60) {
            try takeFacts()
            try perform()
        }
        if !hasFailedFacts, facts.isEmpty { try checkTasks() }
    }

    mutating func connect() throws {
        lastClient += 1
        let client = ClientID(lastClient)
        clients.insert(client)
        hasLeft = false
        try handle(.connected(client), .openedSession(client, random.pick(.default, .ephemeral)))
    }

    mutating func disconnect() throws {
        guard let client = clients.sorted().randomElement(using: &random) else { return }
        clients.remove(client)
        try handle(.disconnected(client))
    }

    /// Sends a client's command, whose response `answerCommand` sends later.
    mutating func command(_ media: MediaID) throws {
        guard let client = clients.sorted().randomElement(using: &random) else { return }
        commands += 1
        try handle(.began)
        let asked = wall
        let isOwn = random.chance(30)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where !cached.contains(media):
            try attempt { rows, last in
                [
                    Self.register(
                        media, &rows, &last, asked: asked,
                        session: isOwn ? ClientSession.clientBound : ClientSession.common),
                    .begun(media, by: client), .suspended(media, false), .wanted(media, .asked),
                ]
            }
        case 1 where !cached.contains(media):
            try attempt { rows, last in
                [Self.register(media, &rows, &last, asked: asked), .suspended(media, true)]
            }
        case 2: try end(media)
        default: break
        }
    }

    mutating func attempt(_ body: (inout [TaskID: Row], inout Int64) throws -> [Input]) throws {
        do {
            try change(body)
        } catch is Rejected {
            // The client gets an error.
        }
    }

    mutating func answerCommand() throws {
        guard commands > 0 else { return }
        commands -= 1
        try handle(.finished)
    }

    mutating func hold(_ media: MediaID) throws {
        guard let client = clients.sorted().randomElement(using: &random) else { return }
        try handle(random.chance(50) ? .held(media, by: client) : .released(media, by: client))
    }

    /// Advances the clocks by `duration`, and delivers each tick that the core has scheduled when it is due.
    mutating func pass(_ duration: Duration) throws {
        let end = uptime + duration
        try perform()
        while let due = wakesAt, due <= end {
            let step = max(.zero, due - uptime)
            uptime += step
            wall += step
            wakesAt = nil
            try handle(.tick)
            try perform()
            if let next = wakesAt { try check(next > uptime, "the wake does not move from \(uptime)") }
            try takeFacts()
            try perform()
        }
        wall += end - uptime
        uptime = end
        try check(wakesAt != nil, "nothing would wake the daemon")
    }
}
