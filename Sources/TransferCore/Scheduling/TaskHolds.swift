/// Who has suspended which tasks: suspensions nest for each client, and end with it.
///
/// A task runs while nobody holds it. A person's suspension, which outlives clients, is not kept here.
package struct TaskHolds<Client: Hashable & Sendable>: Sendable {
    package typealias Task = EpisodeID

    /// How often a client has suspended a task more than it has resumed it; never zero.
    private var counts: [Task: [Client: Int]] = [:]

    package init() {}

    package func isHeld(_ task: Task) -> Bool { counts[task] != nil }

    package mutating func suspend(_ task: Task, by client: Client) {
        counts[task, default: [:]][client, default: 0] += 1
    }

    /// - Returns: `false` when the client has no suspension left to take back.
    package mutating func resume(_ task: Task, by client: Client) -> Bool {
        guard let count = counts[task]?[client] else { return false }
        counts[task]?[client] = count > 1 ? count - 1 : nil
        if counts[task]?.isEmpty ?? false { counts[task] = nil }
        return true
    }

    /// The client has gone.
    ///
    /// - Returns: the tasks that nobody holds any more, in order.
    package mutating func end(_ client: Client) -> [Task] {
        var freed: [Task] = []
        for (task, clients) in counts where clients[client] != nil {
            counts[task]?[client] = nil
            guard clients.count == 1 else { continue }
            counts[task] = nil
            freed.append(task)
        }
        return freed.sorted()
    }

    /// The task has ended.
    package mutating func forget(_ task: Task) { counts[task] = nil }
}
