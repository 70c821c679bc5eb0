internal import Transfers

/// Suspensions of downloads by clients. A client that has suspended a download several times must resume it as often.
/// When a client's connection ends, its suspensions are removed.
///
/// A suspension by the user, which remains when the clients have disconnected, is `RegisteredDownload.isSuspended`.
struct TaskHolds<Client: Hashable & Sendable>: Sendable {
    /// A download, identified by its media file.
    typealias Task = MediaID

    /// The number of suspensions minus resumptions for each task and client; never zero.
    private var counts: [Task: [Client: Int]] = [:]

    /// Returns whether any client suspends a task.
    func isHeld(_ task: Task) -> Bool { counts[task] != nil }

    /// Returns whether this client suspends the task.
    func isHeld(_ task: Task, by client: Client) -> Bool { counts[task]?[client] != nil }

    /// Adds a suspension of a task by a client.
    mutating func suspend(_ task: Task, by client: Client) {
        counts[task, default: [:]][client, default: 0] += 1
    }

    /// Removes one suspension of a task by a client.
    ///
    /// - Returns: `false` if there is none.
    mutating func resume(_ task: Task, by client: Client) -> Bool {
        guard let count = counts[task]?[client] else { return false }
        counts[task]?[client] = count > 1 ? count - 1 : nil
        if counts[task]?.isEmpty ?? false { counts[task] = nil }
        return true
    }

    /// Removes all suspensions by a client whose connection has ended.
    ///
    /// - Returns: The tasks that no client suspends any more, in order.
    mutating func removeAll(by client: Client) -> [Task] {
        var freed: [Task] = []
        for (task, clients) in counts where clients[client] != nil {
            counts[task]?[client] = nil
            guard clients.count == 1 else { continue }
            counts[task] = nil
            freed.append(task)
        }
        return freed.sorted()
    }

    /// Removes all suspensions of a task that has ended.
    mutating func remove(_ task: Task) { counts[task] = nil }
}
