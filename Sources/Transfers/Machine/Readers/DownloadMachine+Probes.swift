internal import Platform

// Probes are readers that read only headers and tags. For them, only the blocks that they read are fetched, without a
// download task.
extension DownloadMachine {
    /// Whether no player waits, and no bytes are fetched in the background. If so, each request ends with the blocks
    /// that the probes need.
    private var servesProbesOnly: Bool { !filling.runsInBackground && !readers.havePlayer }

    /// Returns the blocks that contain a probe's read.
    private func blocks(_ range: Range<Int64>) -> Range<Int64> {
        let size = limits.probeBlock
        let end = range.upperBound.addingReportingOverflow(size - 1)
        return range.lowerBound / size * size..<(end.overflow ? .max : end.partialValue / size * size)
    }

    /// Returns the first byte to request for a read that is blocked at `missing`. For a probe this is the first missing
    /// byte of the read's blocks, unless a connection already fetches that byte. Otherwise it is `missing`.
    func requestStart(for read: Readers.Read, missing: Int64) -> Int64 {
        guard read.kind == .probe, servesProbesOnly else { return missing }
        let first = present.firstMissing(from: blocks(read.range).lowerBound)
        return first < missing && connectionReaching(first) == nil ? first : missing
    }

    /// Returns the end of a request that starts at `need`: the end of the block that contains `need`, or of the last of
    /// the blocks that follow it without a gap and that probes wait for. Returns `nil` if a player waits or bytes are
    /// fetched in the background, since the request is then not limited.
    func probeEnd(from need: Int64) -> Int64? {
        guard servesProbesOnly else { return nil }
        var end = blocks(need..<need + 1).upperBound
        for blocks in readers.reads.map({ blocks($0.range) }).sorted(by: { $0.lowerBound < $1.lowerBound })
        where blocks.lowerBound <= end {
            end = max(end, blocks.upperBound)
        }
        return min(end, pin?.total ?? end)
    }

    /// Returns whether a probe can be served by a range starting at `offset`. If the size of the file is unknown, its
    /// end can only be found by a stream, which is a response from the start of the file on.
    func canProbe(at offset: Int64) -> Bool { canSeek(to: offset) && (pin == nil || pin?.total != nil) }

    /// Serves probes by a stream from the start of the file, up to `Limits.probeStream`, if no range can be requested
    /// at `need`.
    ///
    /// - Returns: `nil` if a player waits, bytes are fetched in the background, or a range can be requested.
    mutating func streamForProbes(to need: Int64, now: Instant) -> [Action]? {
        guard servesProbesOnly, !canProbe(at: need) else { return nil }
        // Wait for the response head that is on its way.
        if connections.all.contains(where: { !$0.isReceiving }) { return [] }
        let end = min(limits.probeStream, pin?.total ?? limits.probeStream)
        for id in connections.ids {
            guard let connection = connections[id], let body = connection.body, connection.position <= need,
                connection.request.end == nil || !body.isPart, body.end.map({ need < $0 }) ?? true
            else { continue }
            connections[id]?.limit = min(body.end ?? end, end)
            return []
        }
        return dropAll() + start(at: present.firstMissing(from: 0), forReader: true, probeEnd: end, now: now)
    }

    /// Fails the reads of probes at or after `Limits.probeStream` for which no range can be requested. They would need
    /// a download of everything before them.
    mutating func refuseProbes() -> [Action] {
        guard pin != nil, servesProbesOnly, connections.all.allSatisfy(\.isReceiving) else { return [] }
        let refused = readers.reads.filter { read in
            let missing = present.firstMissing(from: read.range.lowerBound)
            return missing >= limits.probeStream && !canProbe(at: missing) && connectionReaching(missing) == nil
        }
        return refused.map { read in
            readers.remove(read.id)
            return .answerRead(read.id, Self.unprobed)
        }
    }

    static let unprobed = TransferError(
        .unprobed,
        "the server cannot send parts of the file, and a program that only reads tags does not start a download")

    /// Ends the probes' requests that have no slot yet, since a player's request must not wait behind them.
    mutating func dropQueuedProbes() -> [Action] {
        connections.abort { [connections] id in
            guard let connection = connections[id], connection.isProbe, case .requested(nil) = connection.stage else {
                return true
            }
            return false
        }
    }
}
