internal import Platform

/// The reads of one open file by a program that is assumed to be a probe (a program that reads only headers and tags),
/// until the reads show that it is a player. Pure.
///
/// Some programs (mpd, minidlnad) both scan a library and play from it. What they read shows which of the two they do:
/// a scan reads the start of a file and a few other places, whereas a player reads on.
struct ProbeReads: Sendable, Equatable {
    /// The number of bytes read in sequence after which a program counts as a player.
    static let sequence: Int64 = 1 << 20
    /// The time since the open after which a program that still reads counts as a player. The time during
    /// which its reads waited for the server is not included.
    static let duration = Duration.seconds(5)
    /// The maximum distance in bytes between the end of a sequence and a read that continues it. Reads of one sequence
    /// can be apart because the kernel sends the reads of its readahead in any order, and none for pages that it has
    /// cached.
    static let reach: Int64 = 256 * 1024

    private let opened: Instant
    /// The times during which at least one read has waited for the server: disjoint, in ascending order.
    private var waits: [Range<Instant>] = []
    /// The total of `waits`.
    private var waited = Duration.zero
    /// The end of the current sequence, and the number of bytes read in it.
    private var end: Int64 = 0
    private var count: Int64 = 0

    init(openedAt now: Instant) { opened = now }

    /// Records a read.
    ///
    /// - Returns: Whether this read shows that the program is a player.
    mutating func read(_ range: Range<Int64>, at now: Instant) -> Bool {
        let distance = range.lowerBound.subtractingReportingOverflow(end)
        if !distance.overflow, distance.partialValue.magnitude <= Self.reach.magnitude {
            count += Int64(range.count)
            end = max(end, range.upperBound)
        } else {
            count = Int64(range.count)
            end = range.upperBound
        }
        return count >= Self.sequence || now - opened - waited >= Self.duration
    }

    /// Records that a read has waited for the server. Call at the end of each wait. The kernel sends reads
    /// concurrently, so waits may overlap; the common time is counted once.
    mutating func waited(from start: Instant, to end: Instant) {
        guard start < end else { return }
        var wait = start..<end
        while let last = waits.last, last.upperBound >= wait.lowerBound {
            wait = min(wait.lowerBound, last.lowerBound)..<max(wait.upperBound, last.upperBound)
            waited -= last.upperBound - last.lowerBound
            waits.removeLast()
        }
        waits.append(wait)
        waited += wait.upperBound - wait.lowerBound
    }
}
