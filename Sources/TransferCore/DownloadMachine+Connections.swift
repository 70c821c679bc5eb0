// What the connections bring, and how they end.
extension DownloadMachine {
    /// What the next bytes of a connection are; asked by the driver for every piece that it receives.
    package func step(_ id: ConnectionID) -> Step {
        guard let connection = connections[id], connection.receiving else { return .stop }
        let position = connection.position
        if let limit = connection.limit, position >= limit { return .stop }
        let known = present.firstMissing(from: position)
        if known > position {
            let until = min(known, connection.limit ?? known)
            return connection.compares ? .compare(until: until) : .skip(until: until)
        }
        let next = present.nextPresent(after: position)
        guard let limit = connection.limit else { return .write(until: next) }
        return .write(until: min(limit, next ?? limit))
    }

    /// `count` bytes at the connection's position were compared with the file, or passed over, as `step` said. They are no
    /// progress: whoever has them already waits for others.
    package mutating func passed(_ id: ConnectionID, _ count: Int64) {
        connections[id]?.position += count
    }

    /// `count` bytes at the connection's position stand in the file now.
    package mutating func received(_ id: ConnectionID, _ count: Int64, now: Int64) -> [Action] {
        guard let connection = connections[id], count > 0 else { return [] }
        let position = connection.position
        connections[id]?.position = position + count
        var isNowProven = false
        if !connection.hasWritten {
            connections[id]?.hasWritten = true
            // What was compared agrees: this answer's validator is that of the whole file.
            if pin?.validator == nil, let found = connection.found, connection.compares { pin?.validator = found }
            isNowProven = isForeign && connection.compares
            if isNowProven { isForeign = false }
        }
        present.insert(contentsOf: position..<(position + count))
        lies = 0
        lastError = nil
        if let end = earlyEnd, position + count > end.position { earlyEnd = nil }
        countProgress(count, now: now)
        if let finished = finishIfWhole() { return finished }
        if reads.isEmpty { return [] }
        let answers = answerSatisfied()
        return answers.isEmpty && !isNowProven ? [] : answers + plan(now)
    }

    /// New bytes have come. They are progress when there are enough of them within a reader's deadline: a server that sends
    /// a byte now and then holds nobody, and is asked again ever more seldom.
    private mutating func countProgress(_ count: Int64, now: Int64) {
        if recentBytes.since == .min || now - recentBytes.since > limits.readerDeadline { recentBytes = (now, 0) }
        recentBytes.count += count
        guard recentBytes.count >= limits.leastRate * limits.readerDeadline / 1_000 else { return }
        recentBytes = (now, 0)
        lastProgress = now
        attempts = 0
        firstFailure = nil
        recentError = nil
    }

    /// The bytes of a connection differ from the file's where both have them: it is another rendition.
    package mutating func differs(_ id: ConnectionID, now: Int64) -> [Action] {
        guard connections[id] != nil else { return [] }
        return beginGeneration(keeping: nil, pin: nil, now: now) + plan(now)
    }

    /// A connection has ended by itself.
    package mutating func ended(_ id: ConnectionID, _ ending: Ending, now: Int64, random: Double) -> [Action] {
        guard let connection = connections[id] else { return [] }
        switch ending {
        case .stopped:
            connections[id] = nil
            return plan(now)
        case .complete: return completed(id, connection, now: now, random: random)
        case .failure(let error): return endedEarly(id, connection, error, now: now, random: random)
        case .refusal(let error): return refused(id, error, now: now, random: random)
        }
    }

    private mutating func completed(
        _ id: ConnectionID, _ connection: Connection, now: Int64, random: Double
    ) -> [Action] {
        guard connection.receiving else {
            let error = TransferError(.failed, "the server closed the connection without an answer")
            return lost(id, error, after: nil, now: now, random: random)
        }
        if let limit = connection.limit, connection.position < limit {
            let error = TransferError(.failed, "the server ended \(limit - connection.position) bytes early")
            return endedEarly(id, connection, error, now: now, random: random)
        }
        if let length = connection.excess {
            let error = TransferError(.failed, "the server announced \(length) bytes and ended the answer early")
            return endedEarly(id, connection, error, now: now, random: random)
        }
        if connection.isPart, !connection.hasWritten, let total = pin?.total, connection.position < total {
            // A part that ends before the first new byte: asking again at once would bring the same.
            let error = TransferError(.failed, "the server sent less than it was asked for")
            return endedEarly(id, connection, error, now: now, random: random)
        }
        connections[id] = nil
        // The end of a body without a length is the end of the file; that of a part only when nothing follows.
        if pin?.total == nil, connection.request.end == nil, !(connection.isPart && connection.hasWritten) {
            if let last = present.ranges.last, last.upperBound > connection.position {
                return beginGeneration(keeping: nil, pin: nil, now: now) + plan(now)
            }
            pin?.total = connection.position
            var actions = pin.map { [Action.confirmed(generation: generation, $0)] } ?? []
            actions += answerSatisfied()
            return actions + plan(now)
        }
        return plan(now)
    }

    /// A connection was lost, perhaps with a body under way. Where one body after the other ends at the same byte the
    /// server has no more, whatever it announces. One that stalls there may still go on.
    private mutating func endedEarly(
        _ id: ConnectionID, _ connection: Connection, _ error: TransferError, now: Int64, random: Double
    ) -> [Action] {
        guard connection.receiving, error.code != .timedOut else {
            return lost(id, error, after: nil, now: now, random: random)
        }
        let position = connection.position
        let count = earlyEnd?.position == position ? (earlyEnd?.count ?? 0) + 1 : 1
        earlyEnd = (position, count)
        let isAlone = !connections.contains { $0.key != id && $0.value.receiving }
        guard count >= limits.sameEnds, isAlone else {
            return lost(id, error, after: nil, now: now, random: random)
        }
        connections[id] = nil
        let size = connection.excess ?? (pin?.total ?? connection.bodyEnd).map { "\($0)" }
        let announces = size.map { "the server announces \($0) bytes and sends \(position)" }
        let says = announces ?? "each of the server's answers ends at byte \(position)"
        return fail(TransferError(.failed, "\(says): \(error.message)"), now: now)
    }

    /// The driver has synced and hashed the file.
    package mutating func finished(_ error: TransferError?, now: Int64) -> [Action] {
        isFinishing = false
        if let error { return storageFailed(error, now: now) }
        isCached = true
        isFilling = false
        isSuspended = false
        renewals = 0
        return answerSatisfied()
    }

    /// `deadline` has come.
    package mutating func tick(now: Int64, random: Double) -> [Action] {
        var actions = giveUpLate(now)
        for id in connections.keys.sorted() {
            guard let connection = connections[id] else { continue }
            if let held = connection.heldUntil, held <= now {
                connections[id] = nil
                actions.append(.abort(id))
            } else if !connection.receiving, let started = connection.started, started + limits.stall <= now {
                let seconds = limits.stall / 1_000
                let error = TransferError(.timedOut, "the server did not answer within \(seconds) s")
                actions += [.abort(id)] + lost(id, error, after: nil, now: now, random: random)
            }
        }
        if let due = retryAt, due <= now {
            retryAt = nil
            retryIsServers = false
        }
        if let due = failureForgotten, due <= now { failureForgotten = nil }
        if let awaited = awaitedAddress, awaited.since + limits.renewal <= now {
            actions += addressRenewed(false, now: now)
        }
        return actions + plan(now)
    }

    /// Answers the readers that have waited too long.
    private mutating func giveUpLate(_ now: Int64) -> [Action] {
        let late = reads.filter { giveUpTime(since: $0.since) <= now }
        let lateOpens = opens.filter { giveUpTime(since: $0.since) <= now }
        if late.isEmpty, lateOpens.isEmpty { return [] }
        let reason = lastError.map { ": \($0.message)" } ?? ""
        let seconds = limits.readerDeadline / 1_000
        let code = lastError?.code == .unreachable ? TransferError.Code.unreachable : .timedOut
        let error = TransferError(code, "nothing arrived for \(seconds) s\(reason)")
        reads = reads.filter { giveUpTime(since: $0.since) > now }
        opens = opens.filter { giveUpTime(since: $0.since) > now }
        if recentError == nil { recentError = error }
        return lateOpens.map { .answerOpen($0.id, error) } + late.map { .answerRead($0.id, error) }
    }

    // MARK: -

    /// Answers the readers whose bytes are there.
    mutating func answerSatisfied() -> [Action] {
        if reads.isEmpty { return [] }
        let satisfied = reads.filter { isSatisfied($0.range) }
        if satisfied.isEmpty { return [] }
        reads = reads.filter { !isSatisfied($0.range) }
        return satisfied.map { .answerRead($0.id, nil) }
    }

    mutating func finishIfWhole() -> [Action]? {
        guard let total = pin?.total, present.covers(0..<total), !isFinishing, !isCached else { return nil }
        var actions: [Action] = connections.keys.sorted().map { id in
            guard let connection = connections[id], connection.receiving, connection.position == total else {
                return .abort(id)
            }
            return .release(id)
        }
        connections = [:]
        if !hasFile, let pin {
            hasFile = true
            actions.append(.createFile(generation: generation, pin))
        }
        isFinishing = true
        handles += opens.count
        actions += opens.map { .answerOpen($0.id, nil) }
        opens = []
        actions += answerSatisfied()
        actions.append(.finish(generation: generation))
        return actions
    }

    /// The rendition was replaced: a new file from zero. Every connection but `keeping` ends.
    mutating func beginGeneration(keeping kept: ConnectionID?, pin: Pin?, now: Int64) -> [Action] {
        var actions: [Action] = []
        for id in connections.keys.sorted() where id != kept {
            connections[id] = nil
            actions.append(.abort(id))
        }
        if hasFile { actions.append(.abandonFile(generation: generation)) }
        generation += 1
        hasFile = false
        present = ByteRanges()
        self.pin = pin
        earlyEnd = nil
        lies = 0
        distrusts = false
        lacksValidator = false
        isForeign = false
        actions += reads.map { .answerRead($0.id, Self.changed) }
        reads = []
        renewals += 1
        if renewals > limits.renewals {
            let error = TransferError(.unusable, "the server's answers contradict each other: the file keeps changing")
            return actions + fail(error, now: now)
        }
        if let pin { actions.append(.confirmed(generation: generation, pin)) }
        return actions
    }

    /// A connection was lost to something that may pass.
    mutating func lost(
        _ id: ConnectionID, _ error: TransferError, after: Int64?, now: Int64, random: Double
    ) -> [Action] {
        let connection = connections.removeValue(forKey: id)
        // An address that was once redirected to may be gone for good; where the feed points is the one to trust.
        if let connection, !connection.receiving, connection.request.direct { knowsDirect = false }
        lastError = error
        recentError = error
        attempts += 1
        let began = firstFailure ?? now
        firstFailure = began
        if now - began >= limits.retry.giveUp { return fail(error, now: now) }
        var actions: [Action] = []
        if error.code == .unreachable {
            // Nobody is helped by an open that hangs while there is no network.
            actions += opens.map { .answerOpen($0.id, error) }
            opens = []
        }
        if hasBlockedReaders || isFilling {
            retryIsServers = after != nil
            retryAt = now + limits.retry.pause(attempt: attempts, retryAfter: after, random: random)
        }
        return actions + plan(now)
    }

    /// A connection was refused in a way that trying again does not mend.
    mutating func refused(_ id: ConnectionID, _ error: TransferError, now: Int64, random: Double) -> [Action] {
        guard let connection = connections[id] else { return [] }
        if connection.request.direct {
            // The final address may have expired: ask where the feed points before giving up.
            connections[id] = nil
            knowsDirect = false
            return plan(now)
        }
        // While another connection brings bytes, the file is there: this one was one too many, perhaps.
        if connections.contains(where: { $0.key != id && $0.value.receiving }) {
            return lost(id, error, after: nil, now: now, random: random)
        }
        connections[id] = nil
        return renewAddress(after: error, now: now) ?? fail(error, now: now)
    }

    mutating func fail(_ error: TransferError, now: Int64) -> [Action] {
        var actions = dropAll()
        awaitedAddress = nil
        failure = error
        failureForgotten = now + limits.failureMemory
        retryAt = nil
        retryIsServers = false
        recentError = nil
        earlyEnd = nil
        // First: whoever is answered looks for the reason.
        actions.append(.failed(error))
        return actions + answerAll(error)
    }
}
