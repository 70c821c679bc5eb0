extension DownloadMachine {
    /// Who has the file open, and who waits for an answer.
    struct Readers: Sendable, Equatable {
        struct Open: Sendable, Equatable {
            var id: WaitID
            var since: Int64
        }

        struct Read: Sendable, Equatable {
            var id: WaitID
            var range: Range<Int64>
            var since: Int64
        }

        var opens: [Open] = []
        var reads: [Read] = []
        /// Open files; while there is one, a held response is kept.
        var handles = 0

        /// Whether somebody waits.
        var areBlocked: Bool { !reads.isEmpty || !opens.isEmpty }
        /// Whether nobody has the file open, or waits.
        var isEmpty: Bool { handles == 0 && !areBlocked }

        mutating func remove(_ id: WaitID) {
            reads.removeAll { $0.id == id }
            opens.removeAll { $0.id == id }
        }

        mutating func close() { handles = max(0, handles - 1) }

        /// The size is known: those who open the file have it open now.
        mutating func grantOpens() -> [Action] {
            handles += opens.count
            return answerOpens(nil)
        }

        mutating func answerOpens(_ error: TransferError?) -> [Action] {
            defer { opens = [] }
            return opens.map { .answerOpen($0.id, error) }
        }

        mutating func answerReads(_ error: TransferError?) -> [Action] {
            defer { reads = [] }
            return reads.map { .answerRead($0.id, error) }
        }

        mutating func answerAll(_ error: TransferError) -> [Action] { answerOpens(error) + answerReads(error) }

        /// Answers the reads whose bytes are there.
        mutating func answerReads(where isSatisfied: (Range<Int64>) -> Bool) -> [Action] {
            let satisfied = reads.filter { isSatisfied($0.range) }
            if satisfied.isEmpty { return [] }
            reads.removeAll { isSatisfied($0.range) }
            return satisfied.map { .answerRead($0.id, nil) }
        }

        /// Answers those who wait since a moment that is too long ago.
        mutating func giveUp(_ error: TransferError, where isLate: (Int64) -> Bool) -> [Action] {
            let lateOpens = opens.filter { isLate($0.since) }
            let lateReads = reads.filter { isLate($0.since) }
            opens.removeAll { isLate($0.since) }
            reads.removeAll { isLate($0.since) }
            return lateOpens.map { .answerOpen($0.id, error) } + lateReads.map { .answerRead($0.id, error) }
        }

        /// Since when each of them waits.
        var waits: [Int64] { opens.map(\.since) + reads.map(\.since) }
    }
}
