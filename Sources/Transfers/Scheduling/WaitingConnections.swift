/// The connections that wait for a slot of `ConnectionPools`, in one line for each pool, host and priority. Only the
/// first of a line can be the next to start, so the cost of an admission does not grow with the length of the lines.
struct WaitingConnections: Sendable {
    typealias Token = ConnectionPools.Token
    typealias Entry = ConnectionPools.Entry
    typealias Request = (token: Token, entry: Entry)

    private struct Line: Hashable {
        var pool: ConnectionPools.Pool
        var host: String
        var priority: TransferPriority
    }

    private static func line(_ entry: Entry) -> Line {
        Line(pool: entry.pool, host: entry.host, priority: entry.priority)
    }

    private struct Place {
        var token: Token
        var arrival: Int
    }

    private var entries: [Token: (entry: Entry, arrival: Int)] = [:]
    /// The waiting connections of each line, in order of arrival. No line is empty.
    private var lines: [Line: [Place]] = [:]
    private var arrivals = 0

    var isEmpty: Bool { entries.isEmpty }

    func contains(_ token: Token) -> Bool { entries[token] != nil }

    subscript(token: Token) -> Entry? { entries[token]?.entry }

    /// The first background connections to a host, at most `limit` of each priority.
    func first(_ limit: Int, at host: String) -> [Token] {
        TransferPriority.allCases.flatMap { priority in
            lines[Line(pool: .filling, host: host, priority: priority)]?.prefix(limit).map(\.token) ?? []
        }
    }

    mutating func append(_ token: Token, _ entry: Entry) {
        arrivals += 1
        insert(token, entry, arrival: arrivals)
    }

    mutating func remove(_ token: Token) {
        guard let (entry, arrival) = entries.removeValue(forKey: token) else { return }
        let line = Self.line(entry)
        guard let places = lines[line] else { return }
        if places.count == 1 {
            lines[line] = nil
        } else {
            lines[line]?.remove(at: Self.position(of: arrival, in: places))
        }
    }

    /// Changes a connection's entry. It keeps its order of arrival, also in another line.
    mutating func update(_ token: Token, _ change: (inout Entry) -> Void) {
        guard let (entry, arrival) = entries[token] else { return }
        remove(token)
        var changed = entry
        change(&changed)
        insert(token, changed, arrival: arrival)
    }

    private mutating func insert(_ token: Token, _ entry: Entry, arrival: Int) {
        entries[token] = (entry, arrival)
        let position = Self.position(of: arrival, in: lines[Self.line(entry)] ?? [])
        lines[Self.line(entry), default: []].insert(Place(token: token, arrival: arrival), at: position)
    }

    /// Returns the position of the first place that arrived at `arrival` or later.
    private static func position(of arrival: Int, in places: [Place]) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].arrival < arrival { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the first connection to arrive in a pool with this priority for whose host `canStart` is true.
    func first(
        in pool: ConnectionPools.Pool, _ priority: TransferPriority, where canStart: (Entry) -> Bool
    ) -> Request? {
        var best: (place: Place, entry: Entry)?
        for (line, places) in lines where line.pool == pool && line.priority == priority {
            guard let place = places.first, best.map({ place.arrival < $0.place.arrival }) ?? true,
                let entry = entries[place.token]?.entry, canStart(entry)
            else { continue }
            best = (place, entry)
        }
        return best.map { ($0.place.token, $0.entry) }
    }

    /// Returns all connections that wait in a pool, in order of arrival.
    func all(in pool: ConnectionPools.Pool) -> [Request] {
        lines.filter { $0.key.pool == pool }.flatMap(\.value).sorted { $0.arrival < $1.arrival }.compactMap { place in
            entries[place.token].map { (place.token, $0.entry) }
        }
    }
}
