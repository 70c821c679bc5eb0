internal import Platform

extension DownloadMachine {
    /// The readers of the file: its open handles, and the opens and reads that wait for an answer.
    struct Readers: Sendable, Equatable {
        struct Open: Sendable, Equatable {
            var id: WaitID
            var since: Instant
            var kind: ReaderKind
        }

        struct Read: Sendable, Equatable {
            var id: WaitID
            var range: Range<Int64>
            var since: Instant
            var kind: ReaderKind
        }

        var opens: [Open] = []
        var reads: [Read] = []
        /// The number of open handles: granted opens without a close. At the last close, the machine drops a response
        /// that it has held (paused, unread) for a first read.
        var handles = 0

        /// Whether an open or a read waits for an answer.
        var areBlocked: Bool { !reads.isEmpty || !opens.isEmpty }
        /// Whether an open or a read of a player waits for an answer.
        var havePlayer: Bool { reads.contains { $0.kind == .player } || opens.contains { $0.kind == .player } }
        /// Whether there is no open handle, and no open or read waits for an answer.
        var isEmpty: Bool { handles == 0 && !areBlocked }

        mutating func remove(_ id: WaitID) {
            reads.removeAll { $0.id == id }
            opens.removeAll { $0.id == id }
        }

        /// Grants all waiting opens. Call as soon as the head of a response has confirmed that the file exists, even if
        /// the head does not state the size.
        mutating func grantOpens() -> [Action] {
            handles += opens.count
            return answerOpens(nil)
        }

        mutating func answerOpens(_ error: TransferError?) -> [Action] {
            exchange(&opens, with: []).map { .answerOpen($0.id, error) }
        }

        mutating func answerReads(_ error: TransferError?) -> [Action] {
            exchange(&reads, with: []).map { .answerRead($0.id, error) }
        }

        mutating func answerAll(_ error: TransferError) -> [Action] { answerOpens(error) + answerReads(error) }

        /// Answers the reads whose bytes are present.
        mutating func answerReads(where isSatisfied: (Range<Int64>) -> Bool) -> [Action] {
            let satisfied = reads.filter { isSatisfied($0.range) }
            if satisfied.isEmpty { return [] }
            reads.removeAll { isSatisfied($0.range) }
            return satisfied.map { .answerRead($0.id, nil) }
        }

        /// Fails the opens and reads that have waited too long: those for whose start time `isLate` returns true.
        mutating func giveUp(_ error: TransferError, where isLate: (Instant) -> Bool) -> [Action] {
            let lateOpens = opens.filter { isLate($0.since) }
            let lateReads = reads.filter { isLate($0.since) }
            opens.removeAll { isLate($0.since) }
            reads.removeAll { isLate($0.since) }
            return lateOpens.map { .answerOpen($0.id, error) } + lateReads.map { .answerRead($0.id, error) }
        }

        /// The start times of all waiting opens and reads.
        var waitStarts: [Instant] { opens.map(\.since) + reads.map(\.since) }
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
