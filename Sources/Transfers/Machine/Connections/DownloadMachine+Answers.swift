package import Platform

// Handling of response heads.
extension DownloadMachine {
    /// Records that the request of a connection was sent, after waiting for a slot.
    package mutating func requestSent(_ id: ConnectionID, now: Instant) {
        if case .requested = connections[id]?.stage { connections[id]?.stage = .requested(since: now) }
    }

    /// Returns whether the driver has to wait for the first bytes of a response's body before it calls `head`, to pass
    /// their kind as `content`.
    package func needsContent(_ id: ConnectionID, _ head: ResponseHead) -> Bool {
        guard let connection = connections[id] else { return false }
        // An open should not be answered with the size of an error page while another source may have the file.
        if address.hasNextSource, present.isEmpty, connection.request.offset == 0, head.status == 200 { return true }
        return ResponseVerdict.needsContent(
            head, offset: connection.request.offset, pin: pin, hasBytes: !present.isEmpty)
    }

    /// Handles the head of a response. The driver calls this before it processes the body. The connection continues
    /// unless the returned actions abort it.
    ///
    /// - Parameter content: The kind of content that the first bytes of the body show, if `needsContent` requires them.
    package mutating func head(
        _ id: ConnectionID, _ head: ResponseHead, content: BodyContent? = nil, now: Instant, random: Double
    ) -> [Action] {
        guard let connection = connections[id], !connection.isReceiving else { return [] }
        let verdict = ResponseVerdict(
            head, offset: connection.request.offset, ranged: connection.request.ranged, pin: pin,
            expects: limits.expects, content: content)
        switch verdict {
        case .accept(let offset, let end, let found, let compare):
            let body = Connection.Body(
                isPart: head.status == 206, end: end, endsAtClose: head.framing == .untilClose)
            let contradicts = contradictsPresent(found)
            let cannotJoin = cannotJoin(id, offset: offset, found: found, compare: compare)
            if !cannotJoin, !contradicts {
                return accept(id, body, offset: offset, pin: found, compare: compare, now: now)
            }
            if offset == 0, !present.isEmpty {
                // The response starts at byte 0. It cannot be joined to the present bytes, but it can start a new
                // generation, which replaces them.
                var own = found
                own.validator = Validator(head)
                return replace(id, body, pin: own, now: now)
            }
            if contradicts { return beginGeneration(keeping: nil, pin: nil, now: now) + plan(now) }
            return rejectUnjoinable(id, found, now: now)
        case .replaced(let found):
            let body = Connection.Body(isPart: false, end: found.total, endsAtClose: head.framing == .untilClose)
            return replace(id, body, pin: found, now: now)
        case .stale:
            return beginGeneration(keeping: nil, pin: nil, now: now) + plan(now)
        case .drop(let reason):
            faults.mismatches += 1
            return [.abort(id)]
                + lost(id, TransferError(.unusable, reason), after: nil, now: now, random: random)
        case .atEnd(let total):
            return atEnd(id, total, now: now)
        case .empty: return [.abort(id)] + endedEmpty(id, now: now, random: random)
        case .retry(let error, let after):
            return [.abort(id)] + lost(id, error, after: after, now: now, random: random)
        case .fail(let error):
            return [.abort(id)] + refused(id, error, now: now, random: random)
        }
    }

    /// Returns whether a response cannot be joined to the other bytes of the file. This is the case if no validator
    /// proves that it belongs to the same rendition (version of the file), and it does not start at a present byte, so
    /// that its bytes cannot be compared with the present ones either.
    private func cannotJoin(_ id: ConnectionID, offset: Int64, found: Pin, compare: Bool) -> Bool {
        let joins = !present.isEmpty || connections.areReceiving(beside: id)
        if !joins {
            // There are no other bytes yet. A response without a validator must then start at byte 0, since the bytes
            // before it could never be joined to it.
            return offset > 0 && found.validator == nil
        }
        guard compare else { return false }
        return !present.contains(offset)
    }

    /// Returns whether bytes are present beyond the file size that a response states.
    private func contradictsPresent(_ found: Pin) -> Bool {
        guard let total = found.total, let last = present.ranges.last else { return false }
        return last.upperBound > total
    }

    /// Rejects a response that cannot be joined to the present bytes. Its head still confirms the size; its body is
    /// unusable.
    private mutating func rejectUnjoinable(_ id: ConnectionID, _ found: Pin, now: Instant) -> [Action] {
        connections[id] = nil
        var known = found
        if pin?.validator != nil { rendition.distrusts = true } else { rendition.lacksValidator = true }
        known.validator = pin?.validator
        return [.abort(id)] + adopt(known) + plan(now)
    }

    /// Starts a new generation with the body of a response.
    private mutating func replace(_ id: ConnectionID, _ body: Connection.Body, pin: Pin, now: Instant) -> [Action] {
        let actions = beginGeneration(keeping: id, pin: pin, now: now)
        guard failure == nil else { return actions }
        connections[id]?.compares = false
        connections[id]?.limit = nil
        return actions + accept(id, body, offset: 0, pin: pin, compare: false, now: now)
    }

    /// Records the size, the validator and the other facts that a response states about the file. Answers the waiting
    /// opens, and the reads that are now satisfied.
    private mutating func adopt(_ found: Pin) -> [Action] {
        let hasChanged = pin?.total != found.total || pin == nil
        rendition.pin = found
        let actions: [Action] = hasChanged ? [.confirmed(generation: generation, found)] : []
        return actions + readers.grantOpens() + answerSatisfied()
    }

    /// Accepts the body of a response, which starts at `offset`. If another offset was requested, and another
    /// connection already streams the whole file, ends this connection instead.
    private mutating func accept(
        _ id: ConnectionID, _ answer: Connection.Body, offset: Int64, pin found: Pin, compare: Bool, now: Instant
    ) -> [Action] {
        guard var connection = connections[id] else { return [] }
        var known = found
        var body = answer
        body.found = found.validator
        // During the comparison the validator of this response does not yet apply to the present bytes.
        if compare, !present.isEmpty {
            known.validator = pin?.validator
            if pin?.validator != nil { rendition.distrusts = true }
        }
        if known.validator == nil { rendition.lacksValidator = true }
        address.setKnowsDirect(true)
        if offset != connection.request.offset, let stream = streamAhead(of: id) {
            // The server does not support ranges, and a stream of the whole file is already in progress.
            connections[id] = nil
            if !connection.isProbe {
                connections[stream]?.limit = known.total
                connections[stream]?.isProbe = false
            }
            return [.abort(id)] + adopt(known) + plan(now)
        }
        connection.lastActivity = now
        connection.compares = connection.compares || compare && !present.isEmpty
        if !body.isPart, connection.request.ranged {
            // The server sent the whole file instead of the requested part.
            connection.position = offset
            if !connection.isProbe {
                connection.limit = nil
            } else if offset != connection.request.offset {
                connection.limit = limits.probeStream
            }
        }
        if let end = body.end ?? known.total { connection.limit = min(connection.limit ?? end, end) }
        connection.body = body
        connections[id] = connection
        return adopt(known) + plan(now)
    }

    /// Returns another connection that already streams the whole file. It is ahead of `id`, whose body has only begun
    /// at byte 0.
    private func streamAhead(of id: ConnectionID) -> ConnectionID? {
        connections.ids.first { other in
            guard other != id, let connection = connections[other], let body = connection.body else { return false }
            return connection.request.end == nil && !body.isPart
        }
    }

    /// Handles a 416: the server says that the file ends at or before the first requested byte.
    private mutating func atEnd(_ id: ConnectionID, _ total: Int64, now: Instant) -> [Action] {
        connections[id] = nil
        let ends = present.ranges.last?.upperBound ?? 0
        let fits = present.covers(0..<total) || present.isEmpty && pin?.total == nil
        if fits, ends <= total, pin?.total ?? total == total {
            var found = pin ?? Pin(total: total, validator: nil)
            found.total = total
            return [.abort(id)] + adopt(found) + plan(now)
        }
        return [.abort(id)] + beginGeneration(keeping: nil, pin: nil, now: now) + plan(now)
    }
}
