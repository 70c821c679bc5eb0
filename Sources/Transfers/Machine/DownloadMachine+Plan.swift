internal import Platform

// Computation of the connections that are needed, from the bytes already stored and the readers that wait.
extension DownloadMachine {
    /// Opens, pauses and resumes connections, according to the needs of readers and background filling.
    mutating func plan(_ now: Instant) -> [Action] {
        guard storageFull == nil else { return [] }
        switch phase {
        case .finishing, .cached, .failed: return []
        case .awaitingAddress:
            if isWanted { return [] }
            phase = .fetching()
        case .fetching: break
        }
        if isWanted, let finished = finishIfWhole() { return finished }
        var actions = refuseProbes()
        // Each round adds a connection for a reader, so there are at most as many rounds as allowed connections.
        for _ in 0..<limits.connections where canRetry(now) {
            guard let need = unservedNeed() else { break }
            actions += connect(for: need, now: now)
        }
        if readers.hasOpens, connections.isEmpty, canRetry(now) {
            let need = present.firstMissing(from: 0)
            actions += start(at: need, forReader: true, probeEnd: probeEnd(from: need), now: now)
        }
        if filling.runsInBackground, !readers.hasReads, connections.isEmpty, canRetry(now) {
            actions += start(at: present.firstMissing(from: 0), forReader: false, now: now)
        }
        actions += regulate(now)
        return actions
    }

    private func canRetry(_ now: Instant) -> Bool {
        guard let scheduledRetry else { return true }
        return now >= scheduledRetry.at
    }

    /// Whether the bytes of a new response have to be compared with stored bytes, because they may be of another
    /// rendition (version of the file). This is the case if no validator identifies the rendition, or if the request
    /// goes to the feed's address, which may redirect to another rendition than before.
    private var needsComparison: Bool { !rendition.isProven || !address.knowsDirect }

    /// Returns the connections that will deliver a byte on which a reader is blocked.
    func servingConnections() -> Set<ConnectionID> {
        if readers.hasOpens { return Set(connections.ids) }
        var serving: Set<ConnectionID> = []
        for (_, range) in readers.reads {
            if let id = connectionReaching(present.firstMissing(from: range.lowerBound)) { serving.insert(id) }
        }
        return serving
    }

    /// Returns the nearest connection that will reach `offset`: from within `Limits.reach` bytes, or from any distance
    /// if no new connection can start there.
    func connectionReaching(_ offset: Int64) -> ConnectionID? {
        let ignoresDistance = !canSeek(to: offset)
        var best: ConnectionID?
        var bestDistance = Int64.max
        for id in connections.ids {
            guard let connection = connections[id], connection.position <= offset,
                connection.limit.map({ offset < $0 }) ?? true
            else { continue }
            let distance = offset - connection.position
            guard ignoresDistance || distance <= limits.reach else { continue }
            if distance < bestDistance {
                best = id
                bestDistance = distance
            }
        }
        return best
    }

    /// Returns the start of the next connection for a reader: the byte on which the first reader without a connection
    /// is blocked, or one shortly before it that another reader needs. The kernel sends the reads of one reader in any
    /// order. Without this rule, each of these reads would cause its own request after a broken connection.
    private func unservedNeed() -> Int64? {
        let needs = readers.reads.compactMap { wait, range -> Int64? in
            let missing = present.firstMissing(from: range.lowerBound)
            return connectionReaching(missing) == nil ? requestStart(for: range, wait.kind, missing: missing) : nil
        }
        guard let first = needs.first else { return nil }
        return needs.filter { $0 <= first && first - $0 <= limits.reach }.min()
    }

    /// Returns whether bytes from a request that starts at `offset` can be joined to bytes that are present or in
    /// flight.
    func canSeek(to offset: Int64) -> Bool {
        guard faults.allowRanges else { return false }
        // Before the first response nothing is known, and the first request may start anywhere.
        guard let pin else { return connections.isEmpty }
        guard pin.acceptsRanges else { return false }
        if rendition.isProven || offset > 0 && present.contains(offset - 1) { return true }
        return present.isEmpty && connections.isEmpty && !rendition.lacksValidator
    }

    private mutating func connect(for need: Int64, now: Instant) -> [Action] {
        if let actions = streamForProbes(to: need, now: now) { return actions }
        guard canSeek(to: need) else {
            if pin == nil, !connections.isEmpty { return [] }  // Wait for the response head that is on its way.
            // No request can start at `need`, so only a connection that streams to the end of the file reaches it.
            // Extend the limit of such a connection that is still before `need`, or start a new one.
            for id in connections.ids {
                guard let connection = connections[id], connection.position <= need, connection.request.end == nil,
                    !connection.isProbe, connection.body?.end.map({ need < $0 }) ?? true
                else { continue }
                let end = connection.body?.end ?? pin?.total
                connections[id]?.limit = end
                return []
            }
            return dropAll() + start(at: present.firstMissing(from: 0), forReader: true, now: now)
        }
        var actions: [Action] = []
        if connections.count >= limits.connections {
            let serving = servingConnections()
            guard let idle = connections.ids.last(where: { !serving.contains($0) }) else { return [] }
            connections[idle] = nil
            actions.append(.abort(idle))
        }
        return actions + start(at: need, forReader: true, probeEnd: probeEnd(from: need), now: now)
    }

    /// Starts a connection whose first new byte is `need`. Each connection at a lower offset then stops where the new
    /// one starts. It ends at once if the rendition is proven, no reader waits for the connection, and too many of its
    /// bytes would be wasted.
    ///
    /// - Parameter probeEnd: The end of the bytes that probes need, if only probes wait for the connection.
    mutating func start(at need: Int64, forReader: Bool, probeEnd: Int64? = nil, now: Instant) -> [Action] {
        attempts.lastTry = now
        phase = .fetching()
        var request = ConnectRequest(
            offset: 0, end: nil, ranged: false, ifRange: nil, direct: address.knowsDirect, forReader: forReader,
            source: address.current)
        if need > 0, canSeek(to: need) {
            let overlaps = needsComparison && present.contains(need - 1)
            request.offset = overlaps ? need - min(limits.overlap, need - runStart(before: need)) : need
            request.ranged = true
            request.end = limit(from: need)
        } else if need == 0, rendition.isProven, faults.allowRanges, pin?.acceptsRanges ?? true {
            request.end = limit(from: 0)
            if request.end == pin?.total { request.end = nil }
            request.ranged = request.end != nil
        }
        if let probeEnd {
            request.isProbe = true
            if need == 0, faults.allowRanges, pin?.acceptsRanges ?? true { request.ranged = true }
            // If the size of a known rendition is unknown, the request has no end, because only the end of the body
            // shows the size.
            if request.ranged, pin == nil || pin?.total != nil { request.end = min(request.end ?? probeEnd, probeEnd) }
            if request.end == nil { request.ranged = request.offset > 0 }
        }
        request.ifRange = request.ranged ? pin?.validator : nil
        let first = request.offset
        var actions: [Action] = []
        let serving = servingConnections()
        for other in connections.ids {
            guard let running = connections[other], running.position < first else { continue }
            connections[other]?.limit = min(running.limit ?? first, first)
            // The bytes that the server sends on `other` beyond this limit are wasted: while the connection is paused,
            // they fill the socket buffers. If they cost more than a new request, end the connection. A later request
            // fetches the bytes up to `first`.
            let excess = (running.body?.end ?? running.request.end ?? pin?.total ?? first) - first
            if rendition.isProven, running.isReceiving, !serving.contains(other), excess > limits.excess {
                connections[other] = nil
                actions.append(.abort(other))
            }
        }
        let id = connections.add(
            Connection(
                request: request, position: first, limit: request.end ?? probeEnd ?? pin?.total,
                isProbe: probeEnd != nil, compares: needsComparison && !present.isEmpty, serves: forReader))
        return actions + [.connect(id, request)]
    }

    /// Returns the start of the present range that reaches up to `offset`; `offset` if there is none.
    private func runStart(before offset: Int64) -> Int64 {
        for range in present.ranges where range.lowerBound < offset && offset <= range.upperBound {
            return range.lowerBound
        }
        return offset
    }

    /// Returns the end of a connection that starts at `offset`: the next byte that is present or that another
    /// connection delivers, otherwise the end of the file; `nil` if that is unknown.
    private func limit(from offset: Int64) -> Int64? {
        var result = present.nextPresent(after: offset) ?? pin?.total
        for other in connections.all where other.position > offset {
            result = min(result ?? other.position, other.position)
        }
        return result
    }

    /// Resumes the connections that readers or background filling need. Pauses the others while background filling
    /// runs, and otherwise holds them: a held connection has no slot, and ends unless it is needed within
    /// `limits.maxHold`. Creates the file before bytes are stored.
    private mutating func regulate(_ now: Instant) -> [Action] {
        var actions: [Action] = []
        let serving = servingConnections()
        // Filling pauses for a blocked reader served by another connection. During a retry delay no reader is served,
        // so a pause would gain nothing.
        let fills = filling.runsInBackground && (!readers.hasReads || serving.isEmpty)
        for id in connections.ids {
            guard var connection = connections[id] else { continue }
            let serves = serving.contains(id)
            if connection.serves != serves {
                connection.serves = serves
                actions.append(.serving(id, serves))
            }
            if var body = connection.body {
                if fills || connection.isProbe || serves && !readers.hasOpens {
                    actions += createFile()
                    if body.flow != .running {
                        connection.lastActivity = now
                        actions.append(.resume(id, forReader: serves))
                    }
                    body.flow = .running
                } else if filling.runsInBackground {
                    if body.flow == .running { actions.append(.pause(id)) }
                    body.flow = .paused
                } else if !body.isHeld {
                    body.flow = .held(until: now + limits.maxHold)
                    actions.append(.hold(id))
                }
                connection.body = body
            }
            connections[id] = connection
        }
        return actions
    }
}
