package import TransferCore

/// Work that the daemon does by itself.
package struct WorkItem: Sendable, Codable, Hashable {
    package enum Kind: String, Sendable, Codable {
        case refresh, sync, upload
    }

    package var kind: Kind
    /// The show's row or the upload's number; 0 for the exchange with the sync server, of which there is one.
    package var id: Int64

    package init(_ kind: Kind, id: Int64 = 0) {
        self.kind = kind
        self.id = id
    }

    package static func refresh(_ show: ShowID) -> WorkItem { WorkItem(.refresh, id: show.rawValue) }

    package static func upload(_ task: TaskID) -> WorkItem { WorkItem(.upload, id: task.rawValue) }

    package static let sync = WorkItem(.sync)
}

/// Which work daemons have died under, and what follows from it. Pure.
///
/// A daemon that ended while work ran, without leaving, has died; whether it crashed or somebody killed it, the next one
/// cannot tell. So a death counts against all that ran. What has one against it runs *alone* the next time, after
/// everything else that is due: the second death is then of that item and of no other. An item that comes to its end,
/// successful or not, has proved harmless, and what was counted is forgotten. So kills at random moments stop nothing for
/// long, and what kills the daemon stops after two deaths.
package struct WorkRecord: Sendable, Equatable {
    /// What is known of one item.
    package struct Entry: Sendable, Codable, Equatable {
        package var item: WorkItem
        /// In a row.
        package var deaths: Int
        /// When the last was found, in seconds since 1970.
        package var last: Int64
        /// What people call it.
        package var name: String

        package init(item: WorkItem, deaths: Int, last: Int64, name: String) {
            self.item = item
            self.deaths = deaths
            self.last = last
            self.name = name
        }

        /// Until when the item does not run by itself; `nil` while one death may have been chance.
        package var skippedUntil: Int64? { deaths >= WorkRecord.mostDeaths ? last + WorkRecord.pause : nil }
    }

    /// Deaths in a row from which on an item is left out.
    package static let mostDeaths = 2
    /// For how long, in seconds: a day. Then it gets another chance, as the server or podfs may be another.
    package static let pause: Int64 = 86_400
    /// After this time, in seconds, what was counted is forgotten: nobody has wanted the work since.
    private static let memory: Int64 = 30 * 86_400
    /// More than run at the same time, by far.
    private static let mostEntries = 1_000

    private var known: [WorkItem: Entry] = [:]

    /// - Parameter entries: as an earlier daemon has written them; what they say is bounded.
    package init(_ entries: [Entry] = [], now: Int64) {
        for entry in entries.prefix(Self.mostEntries) {
            var entry = entry
            // A clock that was set back does not make the pause longer.
            entry.last = min(entry.last, now)
            entry.deaths = min(entry.deaths, Self.mostDeaths)
            guard entry.deaths > 0, entry.last > now - Self.memory else { continue }
            known[entry.item] = entry
        }
    }

    package var entries: [Entry] {
        known.values.sorted { ($0.item.kind.rawValue, $0.item.id) < ($1.item.kind.rawValue, $1.item.id) }
    }

    /// A daemon has died while these ran.
    ///
    /// - Returns: those that do not run by themselves from now on.
    package mutating func died(under items: Set<WorkItem>, now: Int64, name: (WorkItem) -> String?) -> [Entry] {
        var skipped: [Entry] = []
        for item in items {
            guard let name = name(item) else {
                // There is no such work any more.
                known[item] = nil
                continue
            }
            let deaths = min((known[item]?.deaths ?? 0) + 1, Self.mostDeaths)
            let entry = Entry(item: item, deaths: deaths, last: now, name: name)
            known[item] = entry
            if entry.skippedUntil != nil { skipped.append(entry) }
        }
        return skipped
    }

    /// The item has come to its end.
    ///
    /// - Returns: whether that changes anything.
    package mutating func ended(_ item: WorkItem) -> Bool { known.removeValue(forKey: item) != nil }

    package func skippedUntil(_ item: WorkItem, now: Int64) -> Int64? {
        guard let until = known[item]?.skippedUntil, until > now else { return nil }
        return until
    }

    /// All that is left out for now.
    package func skipped(now: Int64) -> [Entry] { entries.filter { skippedUntil($0.item, now: now) != nil } }

    /// Whether there is a death against it.
    package func isSuspect(_ item: WorkItem) -> Bool { known[item] != nil }

    /// Which of these may begin by themselves now: all that nothing is known against; when there is no such one, one that
    /// is to run alone, and only while nothing else runs.
    ///
    /// - Parameter running: what runs by itself.
    package func turn(of items: [WorkItem], running: Set<WorkItem>, now: Int64) -> [WorkItem] {
        if running.contains(where: isSuspect) { return [] }
        let wanted = items.filter { skippedUntil($0, now: now) == nil }
        let others = wanted.filter { !isSuspect($0) }
        if !others.isEmpty { return others }
        return running.isEmpty ? Array(wanted.prefix(1)) : []
    }
}
