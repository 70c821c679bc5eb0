internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform
package import PodcastProtocol
internal import Synchronization

/// A journal of the work that this daemon runs unattended, and of the work during which earlier daemons crashed.
///
/// The markers of running work are one small block that is overwritten at each change. It is not synced to disk:
/// written data survives the death of a process, and after a power failure the boot id differs, so that all markers are
/// ignored. Thread-safe.
package final class WorkJournal: Sendable {
    private struct State {
        var record = WorkRecord(now: 0)
        var running: Set<WorkItem> = []
        var descriptor: Int32 = -1
        /// Whether the daemon is exiting. Work that ends from then on was interrupted, so its crash count is not reset.
        var isClosed = false
    }

    private let paths: InstallationPaths
    /// The kernel's boot id; empty if it cannot be read. The markers of another boot are ignored.
    private let bootID: String
    private let state = Mutex(State())

    package init(paths: InstallationPaths) {
        self.paths = paths
        bootID = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Glibc.close($0.descriptor) } } }

    /// Reads the journal of the previous daemon. Call once, while holding the daemon's lock.
    ///
    /// - Parameter name: returns the display name of an item; `nil` if it no longer exists.
    /// - Returns: the items that are skipped from now on, because the daemon has crashed twice while they ran.
    package func open(now: Int64, name: (WorkItem) -> String?) -> [WorkRecord.Entry] {
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
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.running = []
            write(state)
        }
    }

    // MARK: Running work

    /// Records that work starts.
    package func begin(_ items: [WorkItem]) {
        if items.isEmpty { return }
        state.withLock { state in
            guard !state.isClosed else { return }
            state.running.formUnion(items)
            write(state)
        }
    }

    /// Removes finished items from the journal and resets their crash counts. A run at a person's request resets the
    /// count as well.
    ///
    /// - Returns: whether an item was listed as running or had a crash count.
    @discardableResult
    package func remove(_ items: [WorkItem]) -> Bool {
        if items.isEmpty { return false }
        return state.withLock { state in
            guard !state.isClosed else { return false }
            let before = state.running.count
            state.running.subtract(items)
            if state.running.count != before { write(state) }
            var isOther = false
            for item in items where state.record.resetCount(of: item) { isOther = true }
            if isOther { save(state.record) }
            return isOther || state.running.count != before
        }
    }

    // MARK: Due work

    /// Returns the items that may start now; see `WorkRecord.turn`.
    package func turn(of items: [WorkItem], now: Int64) -> [WorkItem] {
        state.withLock { $0.record.turn(of: items, running: $0.running, now: now) }
    }

    /// Returns the time until which an item is skipped, in seconds since 1970; `nil` if it may run.
    package func skippedUntil(_ item: WorkItem, now: Int64) -> Int64? {
        state.withLock { $0.record.skippedUntil(item, now: now) }
    }

    /// Returns the record of an item that is currently skipped.
    package func skipped(_ item: WorkItem, now: Int64) -> WorkRecord.Entry? {
        state.withLock { $0.record.skipped(now: now).first { $0.item == item } }
    }

    /// Whether work runs while some item has a crash count. Due work may then have to wait, so that such an item runs
    /// alone.
    package var mayDelayDueWork: Bool {
        state.withLock { state in !state.running.isEmpty && !state.record.entries.isEmpty }
    }

    // MARK: Files

    /// Returns the items that are currently skipped, for `podfs status` and `podfs doctor`. Needs no running daemon.
    package static func skipped(_ paths: InstallationPaths, now: Int64) -> [WorkRecord.Entry] {
        WorkRecord(entries(paths), now: now).skipped(now: now)
    }

    /// Maximum size in bytes of the journal's files; larger ones are ignored. The records of all work that can
    /// run at the same time need less.
    private static let largest = 1 << 20

    private static func read(_ path: String) -> Data? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= largest else {
            return nil
        }
        return FileManager.default.contents(atPath: path)
    }

    private static func entries(_ paths: InstallationPaths) -> [WorkRecord.Entry] {
        read(paths.workCrashes).flatMap { try? JSONDecoder().decode([WorkRecord.Entry].self, from: $0) } ?? []
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
        guard let data = read(paths.workMarkers) else { return [] }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        guard let first = lines.first, !bootID.isEmpty, first == bootID.split(separator: "\n").first else { return [] }
        var items: Set<WorkItem> = []
        for line in lines.dropFirst() {
            if line == "." { break }
            let words = line.split(separator: " ")
            guard words.count == 2, let kind = WorkItem.Kind(rawValue: String(words[0])), let id = Int64(words[1])
            else { continue }
            items.insert(WorkItem(kind: kind, id: id))
        }
        return items
    }

    private func write(_ state: State) {
        guard state.descriptor >= 0 else { return }
        var text = bootID.hasSuffix("\n") ? bootID : bootID + "\n"
        for item in state.running { text += "\(item.kind.rawValue) \(item.id)\n" }
        text += ".\n"
        _ = text.withUTF8 { pwrite(state.descriptor, $0.baseAddress, $0.count, 0) }
    }
}
