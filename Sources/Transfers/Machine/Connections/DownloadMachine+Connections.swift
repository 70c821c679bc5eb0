package import Platform

// Handling of received bytes and of the ends of connections.
extension DownloadMachine {
    /// Returns how the driver must process the next bytes of a connection. The driver calls it again until all received
    /// bytes are processed.
    package func step(_ id: ConnectionID) -> Step {
        guard let connection = connections[id], connection.isReceiving else { return .stop }
        let position = connection.position
        if let limit = connection.limit, position >= limit { return .stop }
        let presentEnd = present.firstMissing(from: position)
        if presentEnd > position {
            let until = min(presentEnd, connection.limit ?? presentEnd)
            return connection.compares ? .compare(until: until) : .skip(until: until)
        }
        let next = present.nextPresent(after: position)
        guard let limit = connection.limit else { return .write(until: next) }
        return .write(until: min(limit, next ?? limit))
    }

    /// Records that `count` bytes at the connection's position were compared or skipped, as `step` said. This
    /// is no progress of the download, since the bytes were present.
    package mutating func passed(_ id: ConnectionID, _ count: Int64, now: Instant) {
        connections[id]?.position += count
        connections[id]?.lastActivity = now
    }

    /// Records that the driver blocks a connection, for a rate limit or for lack of a slot, so that the machine does
    /// not blame the server for the connection's silence.
    package mutating func restrained(_ id: ConnectionID, now: Instant) { connections[id]?.lastActivity = now }

    /// Records that `count` bytes at the connection's position were written to the file.
    package mutating func received(_ id: ConnectionID, _ count: Int64, now: Instant) -> [Action] {
        guard var connection = connections[id], count > 0 else { return [] }
        let position = connection.position
        connection.position = position + count
        connection.lastActivity = now
        var isNowProven = false
        if var body = connection.body, !body.hasWritten {
            body.hasWritten = true
            connection.body = body
            // The bytes that were already present equal those of this response. Its validator therefore applies to the
            // whole file.
            if connection.compares, pin?.validator == nil, let found = body.found { rendition.pin?.validator = found }
            isNowProven = rendition.isForeign && connection.compares
            if isNowProven { rendition.isForeign = false }
        }
        connections[id] = connection
        rendition.present.insert(contentsOf: position..<(position + count))
        faults.received(upTo: position + count)
        attempts.received(count, limits: limits, now: now)
        if let finished = finishIfWhole() { return finished }
        if !readers.hasReads { return [] }
        let answers = answerSatisfied()
        return answers.isEmpty && !isNowProven ? [] : answers + plan(now)
    }

    /// Handles a connection whose bytes differ from those already present. The server now serves another version
    /// of the file, so a new generation begins.
    package mutating func differs(_ id: ConnectionID, now: Instant) -> [Action] {
        guard connections[id] != nil else { return [] }
        return beginGeneration(keeping: nil, pin: nil, now: now) + plan(now)
    }

    /// Handles the end of a connection, unless the machine itself has ended the connection.
    package mutating func ended(_ id: ConnectionID, _ ending: Ending, now: Instant, random: Double) -> [Action] {
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
        _ id: ConnectionID, _ connection: Connection, now: Instant, random: Double
    ) -> [Action] {
        guard let body = connection.body else {
            let error = TransferError(.failed, "the server closed the connection without an answer")
            return lost(id, error, after: nil, now: now, random: random)
        }
        // If no range can be requested, a stream from the start of the file serves the probes (readers of headers and
        // tags) up to the limit `Limits.probeStream`. A file of unknown size may end before that limit.
        let isCut = connection.isProbe && body.end == nil && pin?.total == nil
        if let limit = connection.limit, connection.position < limit, !isCut {
            let error = TransferError(.failed, "the server ended \(limit - connection.position) bytes early")
            return endedEarly(id, connection, error, now: now, random: random)
        }
        if body.isPart, !body.hasWritten, let total = pin?.total, connection.position < total {
            // The part ended before the first new byte. An immediate retry would return the same, so treat this as a
            // failure, after which the retry is delayed.
            let error = TransferError(.failed, "the server sent fewer bytes than requested")
            return endedEarly(id, connection, error, now: now, random: random)
        }
        // If the size of the file is unknown, the end of a body is the end of the file. The exception is a 206 that
        // contained new bytes, or whose request had an end: more bytes of the file may follow.
        let isWhole = connection.request.end == nil || !body.isPart
        let endsFile = pin?.total == nil && isWhole && !(body.isPart && body.hasWritten)
        if endsFile, connection.position == 0 { return endedEmpty(id, now: now, random: random) }
        // A broken connection may look like the end of such a body. If it ends at the same byte again, the feed is
        // wrong.
        if endsFile, body.endsAtClose, let stated = limits.statedSize, connection.position < stated / 2,
            faults.earlyEnd?.position != connection.position
        {
            let says = "the server closed the connection after \(connection.position) bytes, the feed states \(stated)"
            return endedEarly(id, connection, TransferError(.failed, says), now: now, random: random)
        }
        connections[id] = nil
        if endsFile {
            if let last = present.ranges.last, last.upperBound > connection.position {
                return beginGeneration(keeping: nil, pin: nil, now: now) + plan(now)
            }
            rendition.pin?.total = connection.position
            var actions = pin.map { [Action.confirmed(generation: generation, $0)] } ?? []
            actions += answerSatisfied()
            return actions + plan(now)
        }
        return plan(now)
    }

    /// Handles an empty file. No episode is empty, so the server is at fault: the next source is requested, or the same
    /// one later. Waiting opens fail at once.
    mutating func endedEmpty(_ id: ConnectionID, now: Instant, random: Double) -> [Action] {
        let error = TransferError(.unusable, "the server sent an empty file")
        if address.hasNextSource {
            connections[id] = nil
            return giveUpSource(error, now: now)
        }
        return readers.answer(error) { $0.range == nil } + lost(id, error, after: nil, now: now, random: random)
    }

    /// Handles a connection that was lost, or that ended before its last expected byte. If `Limits.sameEnds` bodies in
    /// a row end at the same byte, and no other connection receives bytes, the machine gives up the source (one of
    /// the file's addresses), because the server has no more bytes, whatever it announces. Bodies that end by a timeout
    /// do not count, since the transfer may continue after a stall.
    private mutating func endedEarly(
        _ id: ConnectionID, _ connection: Connection, _ error: TransferError, now: Instant, random: Double
    ) -> [Action] {
        guard let body = connection.body, error.code != .timedOut else {
            return lost(id, error, after: nil, now: now, random: random)
        }
        let position = connection.position
        guard faults.bodyEndedEarly(at: position) >= limits.sameEnds, !connections.areReceiving(beside: id) else {
            return lost(id, error, after: nil, now: now, random: random)
        }
        connections[id] = nil
        let announces = (pin?.total ?? body.end).map { "the server announces \($0) bytes and sends \(position)" }
        let says = announces ?? "each of the server's answers ends at byte \(position)"
        return giveUpSource(TransferError(.failed, "\(says): \(error.message)"), now: now)
    }

    /// Handles the driver's report that the file was synced and hashed, or the error that prevented it.
    package mutating func finished(_ error: TransferError?, now: Instant) -> [Action] {
        leaveFinishing()
        if let error { return storageFailed(error, now: now) }
        phase = .cached
        filling.goal = .nothing
        faults.renewals = 0
        return answerSatisfied()
    }

    /// Handles the passing of `deadline`.
    package mutating func tick(now: Instant, random: Double) -> [Action] {
        var actions = failLateReaders(now)
        for id in connections.ids {
            guard let connection = connections[id] else { continue }
            if case .held(let until)? = connection.body?.flow, until <= now {
                connections[id] = nil
                actions.append(.abort(id))
            } else if let silent = connection.silentSince, silent + limits.stall <= now {
                let seconds = limits.stall.seconds
                let says = connection.isReceiving ? "stopped sending for" : "did not answer within"
                let error = TransferError(.timedOut, "the server \(says) \(seconds) s")
                actions += [.abort(id)] + lost(id, error, after: nil, now: now, random: random)
            }
        }
        switch phase {
        case .fetching(let retry?) where retry.at <= now: phase = .fetching()
        case .failed(let error, let until?) where until <= now: phase = .failed(error, until: nil)
        case .awaitingAddress(let since, _) where since + limits.renewal <= now:
            actions += addressRenewed(false, now: now)
        case .fetching, .failed, .awaitingAddress, .finishing, .cached: break
        }
        return actions + plan(now)
    }

    /// Fails the readers whose deadline has passed.
    private mutating func failLateReaders(_ now: Instant) -> [Action] {
        guard readers.waits.contains(where: { giveUpTime(since: $0.since) <= now }) else { return [] }
        let says = "nothing arrived for \(limits.readerDeadline.seconds) s"
        let cause = attempts.lastError.flatMap { $0.message == says ? nil : $0 }
        let error = TransferError(
            cause?.code == .unreachable ? .unreachable : .timedOut, cause.map { "\(says): \($0.message)" } ?? says)
        if attempts.lastError == nil { attempts.lastError = error }
        let machine = self
        return readers.answer(error) { machine.giveUpTime(since: $0.since) <= now }
    }

    // MARK: -

    /// Answers the readers whose bytes are present.
    mutating func answerSatisfied() -> [Action] {
        let machine = self
        return readers.answer(nil) { $0.range.map(machine.isSatisfied) ?? false }
    }

    /// Finishes the file if every byte is present: ends or releases the connections, and answers the readers. Otherwise
    /// returns `nil`.
    mutating func finishIfWhole() -> [Action]? {
        guard let total = pin?.total, case .fetching = phase, rendition.isWhole else { return nil }
        var actions: [Action] = connections.ids.map { id in
            guard let connection = connections[id], connection.isReceiving, connection.position == total else {
                return .abort(id)
            }
            return .release(id)
        }
        connections.removeAll()
        actions += createFile()
        phase = .finishing
        return actions + readers.grantOpens() + answerSatisfied() + [.finish(generation: generation)]
    }

    /// Creates the cache file of this generation, if there is none yet.
    mutating func createFile() -> [Action] {
        guard !hasFile, let pin else { return [] }
        rendition.hasFile = true
        return [.createFile(generation: generation, pin)]
    }

    /// Returns from finishing to fetching; has no effect in other phases.
    mutating func leaveFinishing() { if isFinishing { phase = .fetching() } }

    /// Starts a new generation: a new file from byte 0. Every connection except `kept` ends, and waiting reads fail
    /// with `changed`. After more than `Limits.renewals` generations in a row the download fails.
    mutating func beginGeneration(keeping kept: ConnectionID?, pin: Pin?, now: Instant) -> [Action] {
        var actions = connections.abort { $0 == kept }
        if hasFile { actions.append(.abandonFile(generation: generation)) }
        rendition = Rendition(generation: generation + 1, pin: pin)
        faults.beginGeneration()
        actions += readers.answer(Self.changed) { $0.range != nil }
        if faults.renewals > limits.renewals {
            let error = TransferError(.unusable, "the server's answers contradict each other: the file keeps changing")
            return actions + fail(error, now: now)
        }
        if let pin { actions.append(.confirmed(generation: generation, pin)) }
        return actions
    }

    /// The connect timeout, which is shorter during an outage while a reader is blocked.
    package var connectTimeout: Duration {
        attempts.lastError?.isOutage == true && hasBlockedReaders ? limits.outageConnect : limits.stall
    }

    /// Handles a connection lost to a transient failure: schedules a retry, or fails the download if there was no
    /// progress for `RetryPolicy.giveUp`.
    mutating func lost(
        _ id: ConnectionID, _ error: TransferError, after: Duration?, now: Instant, random: Double
    ) -> [Action] {
        let connection = connections.remove(id)
        if let connection, !connection.isReceiving {
            address.failed(direct: connection.request.direct, unreachable: error.isOutage)
        }
        let without = attempts.failed(error, now: now)
        if without >= limits.retry.giveUp { return fail(error, now: now) }
        // Without a network, opens fail at once instead of waiting for the retry.
        let actions = error.code == .unreachable ? readers.answer(error) { $0.range == nil } : []
        if isWanted, case .fetching = phase {
            var pause = limits.retry.pause(attempt: attempts.count, retryAfter: after, random: random)
            // During an outage, frequent attempts burden no server, and a reader is waiting for the network to return.
            if error.isOutage, hasBlockedReaders { pause = min(pause, limits.reachRetry) }
            phase = .fetching(retry: Retry(at: now + pause, isServers: after != nil))
        }
        return actions + plan(now)
    }

    /// Handles a permanent refusal.
    mutating func refused(_ id: ConnectionID, _ error: TransferError, now: Instant, random: Double) -> [Action] {
        guard let connection = connections[id] else { return [] }
        if connection.request.direct {
            // The remembered target of a redirect may have expired. Before giving up, request the file's address as the
            // feed states it.
            connections[id] = nil
            address.setKnowsDirect(false)
            return plan(now)
        }
        // While another connection receives bytes, the file exists, so this is no permanent failure: the server may
        // limit the number of connections.
        if connections.areReceiving(beside: id) { return lost(id, error, after: nil, now: now, random: random) }
        connections[id] = nil
        // This source was given up before, when another connection to it was refused.
        if connection.request.source != address.current { return plan(now) }
        return giveUpSource(error, now: now)
    }

    mutating func fail(_ error: TransferError, now: Instant) -> [Action] {
        let actions = dropAll()
        phase = .failed(error, until: now + limits.failureMemory)
        address.restart()
        attempts.lastError = nil
        faults.clearEarlyEnd()
        // `failed` comes first, because a reader queries the error as soon as it is answered.
        return actions + [.failed(error)] + readers.answer(error)
    }
}
