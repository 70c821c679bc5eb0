internal import Foundation
internal import Platform
package import PodcastProtocol
internal import Synchronization
internal import Transfers

/// A journal of the work that this daemon runs unattended, and of the work during which earlier daemons crashed.
///
/// The markers of running work are one small block that is overwritten at each change. It is not synced to disk:
/// written data survives the death of a process, and after a power failure the boot id differs, so that all markers are
/// ignored. Thread-safe.
package final class WorkJournal: Sendable {
    private struct State {
        var record = WorkRecord(now: 0)
        var descriptor: Int32 = -1
        /// Whether the daemon is exiting. Work that ends from then on was interrupted, so its crash count is not reset.
        var isClosed = false
    }

    private let paths: InstallationPaths
    /// The kernel's boot id; empty if it cannot be read. The markers of another boot are ignored.
    private let bootID = Checkpoint.currentBootID()
    private let state = Mutex(State())

    init(paths: InstallationPaths) { self.paths = paths }

    deinit { state.withLock { if $0.descriptor >= 0 { Glibc.close($0.descriptor) } } }

    /// Reads the journal of the previous daemon. Call once, while holding the daemon's lock.
    ///
    /// - Parameter name: returns the display name of an item; `nil` if it no longer exists.
    /// - Returns: the items that are skipped from now on, because the daemon has crashed twice while they ran.
    func open(now: Int64, name: (WorkItem) -> String?) -> [WorkRecord.Entry] {
        state.withLock { state in
            state.record = WorkRecord(Self.entries(paths), now: now)
            let interrupted = Self.markers(paths, bootID: bootID)
            let skipped = state.record.recordCrash(during: interrupted, now: now, name: name)
            if !interrupted.isEmpty { save(state.record) }
            state.descriptor = Glibc.open(paths.workMarkers, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            write(state)
            return skipped
        }
    }

    /// Records a clean exit, so that the next daemon does not blame the running work for a crash.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.record.running = []
            write(state)
        }
    }

    // MARK: Running work

    /// Records that work starts.
    func begin(_ items: [WorkItem]) {
        if items.isEmpty { return }
        state.withLock { state in
            guard !state.isClosed else { return }
            state.record.running.formUnion(items)
            write(state)
        }
    }

    /// Removes finished items from the journal and resets their crash counts. A run at a person's request resets the
    /// count as well.
    ///
    /// - Returns: whether an item was listed as running or had a crash count.
    @discardableResult
    func remove(_ items: [WorkItem]) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            let wasRunning = !state.record.running.isDisjoint(with: items)
            state.record.running.subtract(items)
            if wasRunning { write(state) }
            let hadCount = items.count { state.record.resetCount(of: $0) } > 0
            if hadCount { save(state.record) }
            return wasRunning || hadCount
        }
    }

    /// The running work and the crash counts now.
    var record: WorkRecord { state.withLock { $0.record } }

    // MARK: Files

    /// Returns the items that are currently skipped, for `podfs status` and `podfs doctor`. Needs no running daemon.
    package static func skipped(_ paths: InstallationPaths, now: Int64) -> [WorkRecord.Entry] {
        WorkRecord(entries(paths), now: now).skipped(now: now)
    }

    private static func entries(_ paths: InstallationPaths) -> [WorkRecord.Entry] {
        FileManager.default.contents(atPath: paths.workCrashes).flatMap {
            try? JSONDecoder().decode([WorkRecord.Entry].self, from: $0)
        } ?? []
    }

    private func save(_ record: WorkRecord) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(record.entries) else { return }
        try? AtomicFile.write([UInt8](data), to: paths.workCrashes, mode: 0o600, isSoleWriter: true)
    }

    /// Parses the markers: one per line between the boot id and a full stop. Bytes after that belong to an earlier,
    /// longer block.
    private static func markers(_ paths: InstallationPaths, bootID: String) -> Set<WorkItem> {
        let lines = (SystemFile.contents(paths.workMarkers) ?? "").split(separator: "\n")
        guard let first = lines.first, first == bootID else { return [] }
        return Set(
            lines.dropFirst().prefix { $0 != "." }.compactMap { line in
                let words = line.split(separator: " ")
                guard words.count == 2, let kind = WorkItem.Kind(rawValue: String(words[0])), let id = Int64(words[1])
                else { return nil }
                return WorkItem(kind: kind, id: id)
            })
    }

    private func write(_ state: State) {
        guard state.descriptor >= 0 else { return }
        var text = bootID + "\n"
        for item in state.record.running { text += "\(item.kind.rawValue) \(item.id)\n" }
        text += ".\n"
        _ = text.withUTF8 { pwrite(state.descriptor, $0.baseAddress, $0.count, 0) }
    }
}

/// A unit of work that the daemon runs unattended.
package struct WorkItem: Sendable, Codable, Hashable {
    /// The kind of work.
    enum Kind: String, Sendable, Codable {
        case refresh, sync, upload
    }

    var kind: Kind
    /// The show's or upload's identifier; 0 for the exchange with the sync server, of which there is only one.
    var id: Int64 = 0

    /// Returns the item for the refresh of a show.
    static func refresh(_ show: ShowID) -> WorkItem { WorkItem(kind: .refresh, id: show.rawValue) }

    /// Returns the item for an upload.
    static func upload(_ task: TaskID) -> WorkItem { WorkItem(kind: .upload, id: task.rawValue) }

    static let sync = WorkItem(kind: .sync)
}

/// The crash counts of unattended work, and the decisions that follow from them. Does no IO.
///
/// A daemon that ended during work without a clean exit has crashed or was killed. The next daemon does not know which
/// of the two has happened, or which item was the cause, so it counts a crash against all items that were running. An
/// item with one crash runs *alone* next time, after all other due work, so that no other item can cause its second
/// crash. An item that finishes, successfully or not, has its count reset. Kills at random moments thus rarely
/// cause an item to be skipped, and an item that crashes the daemon is skipped after two crashes.
package struct WorkRecord: Sendable, Equatable {
    /// The record of one item.
    package struct Entry: Sendable, Codable, Equatable {
        var item: WorkItem
        /// The number of consecutive crashes.
        var crashes: Int
        /// The time at which the last crash was detected, in seconds since 1970.
        var last: Int64
        /// The display name.
        var name: String

        /// The time until which the item is skipped, in seconds since 1970; `nil` after a single crash, which
        /// another item or a kill may have caused.
        var skippedUntil: Int64? { crashes >= WorkRecord.crashLimit ? last + WorkRecord.pause : nil }
    }

    /// Number of consecutive crashes after which an item is skipped.
    static let crashLimit = 2
    /// Seconds for which an item is skipped: a day. Then it is tried again, because the server or podfs may have
    /// changed.
    static let pause: Int64 = 86_400
    /// Seconds after the last crash at which a count expires.
    private static let countLifetime: Int64 = 30 * 86_400
    /// Maximum number of entries, far more than run at the same time.
    private static let mostEntries = 1_000

    private var known: [WorkItem: Entry] = [:]
    /// The items that are running unattended.
    var running: Set<WorkItem> = []

    /// - Parameter entries: the entries that an earlier daemon wrote. Expired ones are dropped, and values are clamped.
    init(_ entries: [Entry] = [], now: Int64) {
        for entry in entries.prefix(Self.mostEntries) {
            var entry = entry
            // A clock that was set back must not extend the pause.
            entry.last = min(entry.last, now)
            entry.crashes = min(entry.crashes, Self.crashLimit)
            guard entry.crashes > 0, entry.last > now - Self.countLifetime else { continue }
            known[entry.item] = entry
        }
    }

    var entries: [Entry] {
        known.values.sorted { ($0.item.kind.rawValue, $0.item.id) < ($1.item.kind.rawValue, $1.item.id) }
    }

    /// Records a crash while these items ran.
    ///
    /// - Returns: the entries of those that are skipped from now on.
    mutating func recordCrash(during items: Set<WorkItem>, now: Int64, name: (WorkItem) -> String?) -> [Entry] {
        var skipped: [Entry] = []
        for item in items {
            guard let name = name(item) else {
                // The item no longer exists.
                known[item] = nil
                continue
            }
            let crashes = min((known[item]?.crashes ?? 0) + 1, Self.crashLimit)
            let entry = Entry(item: item, crashes: crashes, last: now, name: name)
            known[item] = entry
            if entry.skippedUntil != nil { skipped.append(entry) }
        }
        return skipped
    }

    /// Resets the count of an item that has finished.
    ///
    /// - Returns: whether the item had a count.
    mutating func resetCount(of item: WorkItem) -> Bool { known.removeValue(forKey: item) != nil }

    /// Returns the time until which an item is skipped, in seconds since 1970; `nil` if it may run.
    func skippedUntil(_ item: WorkItem, now: Int64) -> Int64? {
        known[item]?.skippedUntil.flatMap { $0 > now ? $0 : nil }
    }

    /// Returns the entry of an item that is currently skipped.
    func skipped(_ item: WorkItem, now: Int64) -> Entry? {
        skippedUntil(item, now: now) == nil ? nil : known[item]
    }

    /// Returns all items that are currently skipped.
    func skipped(now: Int64) -> [Entry] { entries.filter { skippedUntil($0.item, now: now) != nil } }

    /// Whether work runs while some item has a crash count. Due work may then have to wait, so that such an item runs
    /// alone.
    var mayDelayDueWork: Bool { !running.isEmpty && !known.isEmpty }

    /// Returns the items that may start now: all items without a crash count. If every item has a count and nothing
    /// runs, returns one that is not skipped. While an item with a count runs, no item may start.
    func turn(of items: [WorkItem], now: Int64) -> [WorkItem] {
        if running.contains(where: { known[$0] != nil }) { return [] }
        let wanted = items.filter { skippedUntil($0, now: now) == nil }
        let others = wanted.filter { known[$0] == nil }
        if !others.isEmpty { return others }
        return running.isEmpty ? Array(wanted.prefix(1)) : []
    }
}

extension WorkRecord.Entry {
    /// The skipped work, the reason, and the command that runs it, in one line.
    package var explanation: String {
        let (what, command) =
            switch item.kind {
            case .refresh: ("the refresh of '\(name)'", "podfs refresh \(ShellQuoting.quoted(name))")
            case .sync: ("the exchange with \(name)", "podfs sync run")
            case .upload: ("the upload of '\(name)'", "podfs resume upload:\(item.id)")
            }
        return "\(what) has crashed the daemon twice and is skipped for a day; \(command) runs it now"
    }
}
