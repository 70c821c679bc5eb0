internal import Platform
internal import PodcastLibrary
package import PodcastProtocol
package import Transfers

/// A unit of work that the daemon runs unattended.
package struct WorkItem: Sendable, Codable, Hashable {
    /// The kind of work.
    package enum Kind: String, Sendable, Codable {
        case refresh, sync, upload
    }

    package var kind: Kind
    /// The show's or upload's identifier; 0 for the exchange with the sync server, of which there is only one.
    package var id: Int64 = 0

    /// Returns the item for the refresh of a show.
    package static func refresh(_ show: ShowID) -> WorkItem { WorkItem(kind: .refresh, id: show.rawValue) }

    /// Returns the item for an upload.
    package static func upload(_ task: TaskID) -> WorkItem { WorkItem(kind: .upload, id: task.rawValue) }

    package static let sync = WorkItem(kind: .sync)
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
        package var item: WorkItem
        /// The number of consecutive crashes.
        package var crashes: Int
        /// The time at which the last crash was detected, in seconds since 1970.
        package var last: Int64
        /// The display name.
        package var name: String

        /// The time until which the item is skipped, in seconds since 1970; `nil` after a single crash, which
        /// another item or a kill may have caused.
        package var skippedUntil: Int64? { crashes >= WorkRecord.crashLimit ? last + WorkRecord.pause : nil }
    }

    /// Number of consecutive crashes after which an item is skipped.
    package static let crashLimit = 2
    /// Seconds for which an item is skipped: a day. Then it is tried again, because the server or podfs may have
    /// changed.
    package static let pause: Int64 = 86_400
    /// Seconds after the last crash at which a count expires.
    private static let countLifetime: Int64 = 30 * 86_400
    /// Maximum number of entries, far more than run at the same time.
    private static let mostEntries = 1_000

    private var known: [WorkItem: Entry] = [:]

    /// - Parameter entries: the entries that an earlier daemon wrote. Expired ones are dropped, and values are clamped.
    package init(_ entries: [Entry] = [], now: Int64) {
        for entry in entries.prefix(Self.mostEntries) {
            var entry = entry
            // A clock that was set back must not extend the pause.
            entry.last = min(entry.last, now)
            entry.crashes = min(entry.crashes, Self.crashLimit)
            guard entry.crashes > 0, entry.last > now - Self.countLifetime else { continue }
            known[entry.item] = entry
        }
    }

    package var entries: [Entry] {
        known.values.sorted { ($0.item.kind.rawValue, $0.item.id) < ($1.item.kind.rawValue, $1.item.id) }
    }

    /// Records a crash while these items ran.
    ///
    /// - Returns: the entries of those that are skipped from now on.
    package mutating func recordCrash(during items: Set<WorkItem>, now: Int64, name: (WorkItem) -> String?) -> [Entry] {
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
    package mutating func resetCount(of item: WorkItem) -> Bool { known.removeValue(forKey: item) != nil }

    /// Returns the time until which an item is skipped, in seconds since 1970; `nil` if it may run.
    package func skippedUntil(_ item: WorkItem, now: Int64) -> Int64? {
        guard let until = known[item]?.skippedUntil, until > now else { return nil }
        return until
    }

    /// Returns all items that are currently skipped.
    package func skipped(now: Int64) -> [Entry] { entries.filter { skippedUntil($0.item, now: now) != nil } }

    /// Returns whether an item has a crash count.
    package func isSuspect(_ item: WorkItem) -> Bool { known[item] != nil }

    /// Returns the items that may start now: all items without a crash count. If every item has a count and nothing
    /// runs, returns one that is not skipped. While an item with a count runs, no item may start.
    ///
    /// - Parameter running: the items that are running unattended.
    package func turn(of items: [WorkItem], running: Set<WorkItem>, now: Int64) -> [WorkItem] {
        if running.contains(where: isSuspect) { return [] }
        let wanted = items.filter { skippedUntil($0, now: now) == nil }
        let others = wanted.filter { !isSuspect($0) }
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
