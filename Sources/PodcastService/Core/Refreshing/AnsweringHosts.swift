/// The hosts that have answered last. A host that cannot be reached is in trouble only if others can: otherwise the
/// network is away.
struct AnsweringHosts: Sendable {
    /// The last two different hosts, and when each answered, in seconds since 1970.
    private var answers: [(host: String, time: Int64)] = []

    /// The time for which an answer shows that the network is there. Long, since some shows are refreshed once a day.
    private static let validity: Int64 = 86_400

    /// Records that a host has answered.
    mutating func answered(_ host: String, at time: Int64) {
        answers.removeAll { $0.host == host }
        answers.append((host, time))
        if answers.count > 2 { answers.removeFirst() }
    }

    /// Whether a host other than this one has answered in the last day.
    func hasOther(than host: String, at now: Int64) -> Bool {
        answers.contains { $0.host != host && $0.time <= now && now - $0.time < Self.validity }
    }
}
