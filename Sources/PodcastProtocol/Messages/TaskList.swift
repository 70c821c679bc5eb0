package import Transfers

/// The tasks that a status lists, and the number of the others: a queue may be thousands long.
package struct TaskList: Sendable, Codable, Equatable {
    /// The listed tasks, ordered by number.
    package let tasks: [TaskInfo]
    /// The number of tasks that are not listed, by state.
    package let omitted: [TaskState: Int]

    /// The number of tasks that a status lists, unless all are asked for.
    package static let limit = 100

    /// Selects the running tasks and the first ones of each other state, up to `limit`.
    package init(_ all: [TaskInfo], limit: Int = .max) {
        func rank(_ task: TaskInfo) -> Int { TaskState.counted.firstIndex(of: task.state) ?? TaskState.counted.count }
        let ranked = all.count <= limit ? all : all.sorted { (rank($0), $0.id) < (rank($1), $1.id) }
        tasks = ranked.prefix(limit).sorted { $0.id < $1.id }
        omitted = ranked.dropFirst(limit).reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
    }
}
