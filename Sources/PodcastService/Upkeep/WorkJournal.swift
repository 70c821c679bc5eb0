internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform
package import PodcastProtocol
internal import Synchronization

/// What runs by itself in this daemon, kept in a file that outlives it, and what daemons before it have died under.
///
/// The markers of what runs are one small block that is written over at each change. It is not synchronised with the
/// disk: the death of a process loses nothing that was written, and after a failure of power the boot id differs, so that
/// no marker counts. Thread-safe.
package final class WorkJournal: Sendable {
    private struct State {
        var record = WorkRecord(now: 0)
        var running: Set<WorkItem> = []
        var descriptor: Int32 = -1
        /// The daemon leaves: what ends now was cut short, and has proved nothing.
        var isClosed = false
    }

    private let places: Places
    private let bootID: String
    private let state = Mutex(State())

    package init(places: Places) {
        self.places = places
        bootID = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Glibc.close($0.descriptor) } } }

    /// Takes up what the daemon before has left. To be called once, by who holds the daemon's lock.
    ///
    /// - Parameter name: what people call an item; `nil` when there is none any more.
    /// - Returns: what does not run by itself from now on, as this death was its second.
    package func open(now: Int64, name: (WorkItem) -> String?) -> [WorkRecord.Entry] {
        state.withLock { state in
            state.record = WorkRecord(Self.entries(places), now: now)
            let left = Self.markers(places, bootID: bootID)
            let skipped = state.record.died(under: left, now: now, name: name)
            if !left.isEmpty { save(state.record) }
            state.descriptor = Glibc.open(places.workMarkers, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            write(state)
            return skipped
        }
    }

    /// The daemon leaves of its own accord: nothing that runs has killed it.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.running = []
            write(state)
        }
    }

    // MARK: What runs

    package func begin(_ items: [WorkItem]) {
        if items.isEmpty { return }
        state.withLock { state in
            guard !state.isClosed else { return }
            state.running.formUnion(items)
            write(state)
        }
    }

    /// Of items that did not run by themselves, what was counted is forgotten all the same: somebody asked for them.
    ///
    /// - Returns: whether something was known of one of them.
    @discardableResult
    package func end(_ items: [WorkItem]) -> Bool {
        if items.isEmpty { return false }
        return state.withLock { state in
            guard !state.isClosed else { return false }
            let before = state.running.count
            state.running.subtract(items)
            if state.running.count != before { write(state) }
            var isOther = false
            for item in items where state.record.ended(item) { isOther = true }
            if isOther { save(state.record) }
            return isOther || state.running.count != before
        }
    }

    // MARK: What may run

    /// `WorkRecord.turn`
    package func turn(of items: [WorkItem], now: Int64) -> [WorkItem] {
        state.withLock { $0.record.turn(of: items, running: $0.running, now: now) }
    }

    package func skippedUntil(_ item: WorkItem, now: Int64) -> Int64? {
        state.withLock { $0.record.skippedUntil(item, now: now) }
    }

    /// What is known of an item that is left out for now.
    package func skipped(_ item: WorkItem, now: Int64) -> WorkRecord.Entry? {
        state.withLock { $0.record.skipped(now: now).first { $0.item == item } }
    }

    /// Whether something waits that is to run alone, or runs alone: then what is due may have to wait for an end.
    package var isHeldUp: Bool {
        state.withLock { state in !state.running.isEmpty && !state.record.entries.isEmpty }
    }

    // MARK: Files

    /// What is left out for now, for `podfs status` and `podfs doctor`, whether or not a daemon runs.
    package static func skipped(_ places: Places, now: Int64) -> [WorkRecord.Entry] {
        WorkRecord(entries(places), now: now).skipped(now: now)
    }

    /// More than the block of all that can run.
    private static let largest = 1 << 20

    private static func read(_ path: String) -> Data? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= largest else {
            return nil
        }
        return FileManager.default.contents(atPath: path)
    }

    private static func entries(_ places: Places) -> [WorkRecord.Entry] {
        read(places.workDeaths).flatMap { try? JSONDecoder().decode([WorkRecord.Entry].self, from: $0) } ?? []
    }

    private func save(_ record: WorkRecord) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(record.entries) else { return }
        try? AtomicFile.write([UInt8](data), to: places.workDeaths, mode: 0o600, isSoleWriter: true)
    }

    /// A line each, between the boot's id and a full stop: what stands behind it is of an earlier, longer block.
    private static func markers(_ places: Places, bootID: String) -> Set<WorkItem> {
        guard let data = read(places.workMarkers) else { return [] }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        guard let first = lines.first, !bootID.isEmpty, first == bootID.split(separator: "\n").first else { return [] }
        var items: Set<WorkItem> = []
        for line in lines.dropFirst() {
            if line == "." { break }
            let words = line.split(separator: " ")
            guard words.count == 2, let kind = WorkItem.Kind(rawValue: String(words[0])), let id = Int64(words[1])
            else { continue }
            items.insert(WorkItem(kind, id: id))
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
