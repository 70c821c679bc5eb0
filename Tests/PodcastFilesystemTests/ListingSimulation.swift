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
        /// the listing.
        case receiving([KernelDirectoryCache.Entry])
        /// Closed; the filesystem has not received the release yet.
        case closed
    }

    private struct Program {
        var handle: UInt64
        var stream = KernelDirectoryCache.Stream(usesCache: false)
        var activity: Activity
        /// The version of the listing that the filesystem returns to the stream.
        var listing: Int
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
    /// The current version of the listing. Versions have some names in common.
    private var current = 1
    /// The last version that was reported to the filesystem.
    private var reportedListing = 1
    /// While no invalidation is pending, only an open stream of an older version can add names older than this version
    /// to the kernel's cache. `drop` delivers an invalidation and sets this to the version that had been reported last
    /// when the invalidation was sent. `hear` sets this to the version that it reports, if no stream uses the cache and
    /// the next one clears it. A partial cache is not cleared: it is dropped only after a stream has completed it.
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

    /// Returns the names in a version, as numbers in ascending order.
    private static func names(_ listing: Int) -> [Int] {
        let names = (0..<14).filter { ($0 * 3 + listing * 5) % 7 > 1 }
        let size = KernelDirectoryCache.size(of: names.map(length))
        // A listing that fills its pages exactly is not cached (`FolderSnapshot.fillsPages`), so it gets one more name.
        return size % KernelDirectoryCache.pageSize == 0 ? names + [14] : names
    }

    private static func length(_ name: Int) -> Int { 1 + name % 3 }

    /// Returns the entry of a name. Its offset is the same in all versions.
    private static func entry(_ name: Int) -> KernelDirectoryCache.Entry {
        KernelDirectoryCache.Entry(name: name, next: UInt64(name) + 1, length: length(name))
    }

    private func inputs(_ listing: Int) -> DirectoryCache.OpenInputs {
        DirectoryCacheTests.opening(
            Int64(listing), count: Self.names(listing).count, at: now, invalidations: invalidations)
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

    /// Changes the names and changes them back, without a report to the filesystem.
    mutating func changeAndRestoreNames() { current += 7 }

    /// Reports all changes, then lists the folder with a single program: to the end, or until the filesystem has
    /// answered `answers` requests for names.
    ///
    /// - Returns: Whether the filesystem was asked for names.
    mutating func listAlone(leavingAfter answers: Int = .max) -> Bool {
        hear()
        while !drops.isEmpty { drop() }
        lastHandle += 1
        let use = rule.open(lastHandle, inputs(current))
        programs = [Program(handle: lastHandle, activity: .opening(use), listing: current, earliest: current)]
        advance(0)
        var asked = 0
        let before = completed
        while completed == before, asked < answers {
            if programs[0].activity == .resting { read(0) }
            if case .receiving = programs[0].activity { asked += 1 }
            while case .receiving = programs[0].activity { advance(0) }
        }
        rule.close(lastHandle)
        programs = []
        return asked > 0
    }

    private mutating func open() {
        guard programs.count < 5 else { return }
        lastHandle += 1
        // A slow thread may have read the previous version, unless a newer one has been reported to the filesystem.
        let listing = Int.random(in: max(reportedListing, current - 1)...current, using: &generator)
        let use = rule.open(lastHandle, inputs(listing))
        if Int.random(in: 0..<20, using: &generator) == 0 {
            rule.abandon(lastHandle)
            return
        }
        uses[use, default: 0] += 1
        // Until an invalidation is delivered, a stream that shares the cache may get older names.
        let earliest = use == .shares && !drops.isEmpty ? min(listing, lastDropped) : listing
        programs.append(Program(handle: lastHandle, activity: .opening(use), listing: listing, earliest: earliest))
    }

    /// Informs the filesystem of all changes so far.
    private mutating func hear() {
        guard reportedListing < current else { return }
        reportedListing = current
        if rule.change() {
            drops.append(reportedListing)
        } else if rule.isIdle, !rule.isPartial {
            lastDropped = reportedListing
        }
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
            programs.remove(at: index)
        }
    }

    private mutating func rewind(_ index: Int) {
        programs[index].stream.position = 0
        programs[index].read = []
        if !programs[index].stream.usesCache {
            programs[index].earliest = max(programs[index].earliest, programs[index].isNew ? 0 : current)
        } else if !drops.isEmpty {
            // Until the invalidation is delivered, the kernel may have older names.
            programs[index].earliest = min(programs[index].earliest, lastDropped)
        } else if programs.indices.allSatisfy({ other in
            other == index || !programs[other].stream.usesCache || programs[other].listing >= lastDropped
        }) {
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
    private mutating func ask(_ index: Int) -> [KernelDirectoryCache.Entry] {
        let handle = programs[index].handle
        let offset = programs[index].stream.position
        let isOutdated = rule.requested(handle)
        if offset == 0, !programs[index].isNew || isOutdated {
            rule.rewind(handle, to: DirectoryCacheTests.basis(Int64(current)))
            programs[index].listing = current
        }
        programs[index].isNew = false
        let rest = Self.names(programs[index].listing).filter { UInt64($0) >= offset }
        if rest.isEmpty {
            if rule.finished(handle) { drops.append(reportedListing) }
            return []
        }
        return rest.prefix(Int.random(in: 1...6, using: &generator)).map(Self.entry)
    }

    /// Passes the next entry of an answer, or the end, to the kernel.
    private mutating func receive(_ index: Int, _ entries: [KernelDirectoryCache.Entry]) {
        let stream = programs[index].stream
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
        let names = read.map(\.name)
        let versions = (program.earliest...current).map { Set(Self.names($0)) }
        let lasting = versions.dropFirst().reduce(versions[0]) { $0.intersection($1) }
        let possible = versions.reduce(Set()) { $0.union($1) }
        if zip(names, names.dropFirst()).contains(where: { $0 >= $1 }) {
            failures.append("\(program.handle): not in order: \(names)")
        } else if !lasting.isSubset(of: names) || !possible.isSuperset(of: names) {
            failures.append("\(program.handle): \(names), of versions since \(program.earliest): \(versions)")
        }
    }
}
