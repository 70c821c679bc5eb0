import Platform
import TestSupport

@testable import PodcastFilesystem

/// A simulation of programs that list one folder, of the kernel's cache of the folder's names, and of a filesystem that
/// opens directory streams as `DirectoryCache` decides. Their steps are interleaved in random order.
struct ListingSimulation {
    private enum Activity: Equatable {
        /// The filesystem has answered opendir, but open(2) has not returned yet.
        case opening(DirectoryCache.Use)
        case resting
        /// The filesystem has sent these entries, which the kernel has not processed yet. An empty array is the end of
        /// the listing, `nil` an error.
        case receiving([KernelDirectoryCache.Entry]?)
        /// Closed; the filesystem has not received the release yet.
        case closed
    }

    private struct Program {
        var handle: UInt64
        var stream = KernelDirectoryCache.Stream(usesCache: false)
        var activity: Activity
        /// The version of the listing that the filesystem returns to the stream.
        var listing: Int
        /// The offset that the filesystem reports after the stream's last name; `nil` for the offset that the name's
        /// index determines.
        var end: UInt64?
        var isNew = true
        /// The oldest version that the stream may return.
        var earliest: Int
        /// The entries read since the start of the listing; `nil` once the stream has reached the end.
        var read: [KernelDirectoryCache.Entry]? = []
    }

    private var generator: SeededGenerator
    private var rule = DirectoryCache()
    private var cache = KernelDirectoryCache()
    private var programs: [Program] = []
    private var lastHandle: UInt64 = 0
    /// The versions from which, as far as the filesystem knows, the kernel's cache may have names.
    private var known: [(listing: Int, end: UInt64?)] = []
    /// The current version of the listing. Versions have different numbers of names.
    private var current = 1
    /// The last version that was reported to the filesystem.
    private var reportedListing = 1
    /// While no invalidation is pending, only an open stream of an older version can add names older than this version
    /// to the kernel's cache. `drop` delivers an invalidation and sets this to the version that had been reported last
    /// when the invalidation was sent. `hear` sets this to the version that it reports, if no stream uses the cache.
    private var lastDropped = 1
    /// The pending invalidations of the kernel's cached pages. Each element is the version that had been reported last
    /// when the invalidation was sent.
    private var drops: [Int] = []
    private var now = Instant.start
    private var invalidations: UInt64 = 0

    private(set) var failures: [String] = []
    /// The number of listings that were read from start to end.
    private(set) var completed = 0
    private(set) var uses: [DirectoryCache.Use: Int] = [:]

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private static func count(_ listing: Int) -> Int {
        let count = 3 + listing * 7 % 11
        let size = KernelDirectoryCache.size(of: (0..<count).map { length(listing, $0) })
        // A listing that fills its pages exactly is not cached (`FolderSnapshot.fillsPages`), so it gets one more name.
        return size % KernelDirectoryCache.pageSize == 0 ? count + 1 : count
    }

    private static func length(_ listing: Int, _ index: Int) -> Int { 1 + (listing + index) % 3 }

    private static func base(_ listing: Int) -> UInt64 { UInt64(listing) * 100 }

    private static func entry(_ listing: Int, _ index: Int, end: UInt64? = nil) -> KernelDirectoryCache.Entry {
        let next = base(listing) + UInt64(index) + 1
        return KernelDirectoryCache.Entry(
            listing: listing, index: index, next: index == count(listing) - 1 ? end ?? next : next,
            length: length(listing, index))
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<8: open()
        case 8..<10: current += 1
        case 10..<14: hear()
        case 14..<20: if !drops.isEmpty { drop() }
        case 20: cache.dropPage(Int.random(in: 0...max(0, cache.pageCount), using: &generator))
        case 21:
            invalidations += UInt64.random(in: 0...2, using: &generator)
            now += .seconds(Int64.random(in: 0...3_000, using: &generator))
        default:
            if !programs.isEmpty { advance(Int.random(in: 0..<programs.count, using: &generator)) }
        }
    }

    /// Runs all programs to their end.
    mutating func finish() {
        while !programs.isEmpty { advance(programs.count - 1) }
    }

    /// Changes the names, without a report to the filesystem.
    mutating func change() { current += 1 }

    /// Reports all changes, then lists the folder with a single program: to the end, or until the filesystem has
    /// answered `answers` requests for names.
    ///
    /// - Returns: Whether the filesystem was asked for names.
    mutating func listAlone(leavingAfter answers: Int = .max) -> Bool {
        hear()
        while !drops.isEmpty { drop() }
        lastHandle += 1
        let answer = rule.open(
            lastHandle,
            DirectoryCache.OpenInputs(
                listing: Self.base(current), count: Self.count(current), now: now, invalidations: invalidations))
        if answer.use == .fills { known = [] }
        if answer.use.usesCache { know(current, end: answer.end) }
        programs = [
            Program(
                handle: lastHandle, activity: .opening(answer.use), listing: current, end: answer.end, earliest: current
            )
        ]
        advance(0)
        var asked = 0
        let before = completed
        while completed == before, asked < answers {
            if programs[0].activity == .resting { read(0) }
            if case .receiving = programs[0].activity { asked += 1 }
            while case .receiving = programs[0].activity { advance(0) }
        }
        rule.close(lastHandle)
        (programs, known) = ([], [])
        return asked > 0
    }

    private mutating func open() {
        guard programs.count < 5 else { return }
        lastHandle += 1
        // A slow thread may have read the previous version, unless a newer one has been reported to the filesystem.
        let listing = Int.random(in: max(reportedListing, current - 1)...current, using: &generator)
        let answer = rule.open(
            lastHandle,
            DirectoryCache.OpenInputs(
                listing: Self.base(listing), count: Self.count(listing), now: now, invalidations: invalidations))
        if Int.random(in: 0..<20, using: &generator) == 0 {
            rule.abandon(lastHandle)
            return
        }
        uses[answer.use, default: 0] += 1
        if answer.use == .fills { known = [] }
        if answer.use.usesCache { know(listing, end: answer.end) }
        programs.append(
            Program(
                handle: lastHandle, activity: .opening(answer.use), listing: listing, end: answer.end,
                earliest: listing))
    }

    /// Informs the filesystem of all changes so far.
    private mutating func hear() {
        guard reportedListing < current else { return }
        reportedListing = current
        if rule.change() { drops.append(reportedListing) } else if rule.isIdle { lastDropped = reportedListing }
    }

    private mutating func drop() {
        cache.dropPages()
        lastDropped = drops.removeFirst()
    }

    private mutating func advance(_ index: Int) {
        switch programs[index].activity {
        case .opening(let use):
            if !use.keepsCache { cache.dropPages() }
            programs[index].stream = KernelDirectoryCache.Stream(usesCache: use.usesCache)
            programs[index].activity = .resting
        case .resting:
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: programs[index].activity = .closed
            case 1: rewind(index)
            default: read(index)
            }
        case .receiving(let entries): receive(index, entries)
        case .closed:
            rule.close(programs[index].handle)
            if rule.isIdle { known = [] }
            programs.remove(at: index)
        }
    }

    private mutating func rewind(_ index: Int) {
        programs[index].stream.position = 0
        programs[index].read = []
        if !programs[index].stream.usesCache {
            programs[index].earliest = max(programs[index].earliest, programs[index].isNew ? 0 : current)
        } else if drops.isEmpty,
            programs.indices.allSatisfy({ other in
                other == index || !programs[other].stream.usesCache || programs[other].listing >= lastDropped
            })
        {
            // No other stream adds older names to the kernel's cache any more.
            programs[index].earliest = max(programs[index].earliest, lastDropped)
        }
    }

    private mutating func read(_ index: Int) {
        switch cache.read(&programs[index].stream) {
        case .entries(let entries): take(index, entries)
        case .uncached: programs[index].activity = .receiving(ask(index))
        }
    }

    /// The filesystem's readdir.
    private mutating func ask(_ index: Int) -> [KernelDirectoryCache.Entry]? {
        let handle = programs[index].handle
        let offset = programs[index].stream.position
        let isOutdated = rule.requested(handle)
        if offset == 0, !programs[index].isNew || isOutdated {
            let isAlone = rule.rewind(handle, to: Self.base(current))
            if programs[index].listing != current { programs[index].end = nil }
            programs[index].listing = current
            if isAlone { known = [] }
            if rule.has(handle) { know(current, end: programs[index].end) }
        }
        programs[index].isNew = false
        guard let (listing, first, end) = position(of: offset, programs[index]) else { return nil }
        let count = Self.count(listing)
        if first == count {
            if rule.finished(handle) { drops.append(reportedListing) }
            return []
        }
        let last = min(count, first + Int.random(in: 1...6, using: &generator))
        let entries = (first..<last).map { Self.entry(listing, $0, end: end) }
        if let next = entries.last?.next { rule.replied(handle, to: next) }
        return entries
    }

    /// Returns the version to which an offset belongs, the number of names before it, and the end of the listing.
    private func position(
        of offset: UInt64, _ program: Program
    ) -> (listing: Int, position: Int, end: UInt64?)? {
        if offset == 0 { return (program.listing, 0, program.end) }
        for (listing, end) in [(program.listing, program.end)] + known.reversed() {
            let base = Self.base(listing)
            if offset == end { return (listing, Self.count(listing), end) }
            if offset > base, offset <= base + UInt64(Self.count(listing)) {
                return (listing, Int(offset - base), end)
            }
        }
        return nil
    }

    /// Records the version of a stream that uses the kernel's cache, and the offset after its last name.
    private mutating func know(_ listing: Int, end: UInt64?) {
        if !known.contains(where: { $0.listing == listing }) { known.append((listing, end)) }
    }

    /// Passes the next entry of an answer, or the end, to the kernel.
    private mutating func receive(_ index: Int, _ entries: [KernelDirectoryCache.Entry]?) {
        let stream = programs[index].stream
        guard let entries else {
            programs[index].activity = .resting
            take(index, [])
            return
        }
        guard let first = entries.first else {
            if stream.usesCache { cache.end(at: stream.position) }
            programs[index].activity = .resting
            take(index, [])
            return
        }
        if stream.usesCache { cache.add(first, at: stream.position) }
        programs[index].stream.position = first.next
        take(index, [first])
        let rest = Array(entries.dropFirst())
        programs[index].activity = rest.isEmpty ? .resting : .receiving(rest)
    }

    /// Returns names, or the end, to the program.
    private mutating func take(_ index: Int, _ entries: [KernelDirectoryCache.Entry]) {
        guard entries.isEmpty else {
            programs[index].read?.append(contentsOf: entries)
            return
        }
        if let read = programs[index].read { check(programs[index], read) }
        // Afterwards the program rewinds or closes.
        programs[index].read = nil
        if Bool.random(using: &generator) { rewind(index) } else { programs[index].activity = .closed }
    }

    private mutating func check(_ program: Program, _ read: [KernelDirectoryCache.Entry]) {
        completed += 1
        let listing = read.first?.listing ?? 0
        if read.map(\.listing) != Array(repeating: listing, count: Self.count(listing))
            || read.map(\.index) != Array(0..<Self.count(listing))
        {
            failures.append("\(program.handle): not one listing: \(read.map { ($0.listing, $0.index) })")
        } else if listing < program.earliest {
            failures.append("\(program.handle): \(listing), and \(program.earliest) is the earliest allowed")
        }
    }
}
