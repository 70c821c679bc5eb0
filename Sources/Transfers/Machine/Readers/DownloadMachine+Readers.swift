internal import Platform

extension DownloadMachine {
    /// The readers of the file: its open handles, and the opens and reads that wait for an answer.
    struct Readers: Sendable, Equatable {
        /// An open or a read that waits for an answer.
        struct Wait: Sendable, Equatable {
            var id: WaitID
            /// The bytes of a read; `nil` for an open.
            var range: Range<Int64>?
            var since: Instant
            var kind: ReaderKind
        }

        private(set) var waits: [Wait] = []
        /// The number of open handles: granted opens without a close. At the last close, the machine drops a response
        /// that it has held (paused, unread) for a first read.
        var handles = 0

        var hasOpens: Bool { waits.contains { $0.range == nil } }
        /// The waiting reads, in order of arrival.
        var reads: some Sequence<(wait: Wait, range: Range<Int64>)> {
            waits.lazy.compactMap { wait in wait.range.map { (wait, $0) } }
        }
        var hasReads: Bool { waits.contains { $0.range != nil } }
        /// Whether an open or a read of a player waits for an answer.
        var havePlayer: Bool { waits.contains { $0.kind == .player } }
        /// Whether there is no open handle, and no open or read waits for an answer.
        var isEmpty: Bool { handles == 0 && waits.isEmpty }

        mutating func add(_ id: WaitID, _ range: Range<Int64>?, _ kind: ReaderKind, since: Instant) {
            waits.append(Wait(id: id, range: range, since: since, kind: kind))
        }

        /// Grants all waiting opens. Call as soon as the head of a response has confirmed that the file exists, even if
        /// the head does not state the size.
        mutating func grantOpens() -> [Action] {
            handles += waits.count { $0.range == nil }
            return answer(nil) { $0.range == nil }
        }

        /// Answers the waits for which `isAnswered` returns true.
        mutating func answer(_ error: TransferError?, where isAnswered: (Wait) -> Bool = { _ in true }) -> [Action] {
            let answered = waits.filter(isAnswered)
            if answered.isEmpty { return [] }
            waits.removeAll(where: isAnswered)
            return answered.map { $0.range == nil ? .answerOpen($0.id, error) : .answerRead($0.id, error) }
        }
    }
}

/// The kind of program that reads a file, which decides whether the whole file is downloaded.
package enum ReaderKind: Sendable, Equatable {
    /// A program that plays or copies the file. Its first read starts the download of the whole file.
    case player
    /// A program that reads headers and tags, as scanners of media libraries do. Only the blocks that it reads are
    /// fetched, and its reads do not start the download of the whole file.
    case probe
}

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
    func requestStart(for range: Range<Int64>, _ kind: ReaderKind, missing: Int64) -> Int64 {
        guard kind == .probe, servesProbesOnly else { return missing }
        let first = present.firstMissing(from: blocks(range).lowerBound)
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
        let machine = self
        return readers.answer(Self.unprobed) { wait in
            guard let start = wait.range?.lowerBound else { return false }
            let missing = machine.present.firstMissing(from: start)
            return missing >= machine.limits.probeStream && !machine.canProbe(at: missing)
                && machine.connectionReaching(missing) == nil
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
