import Transfers

/// The selection of a task by the keys of `podfs status --watch`.
struct TaskSelection {
    /// The selected task, which may have ended; `nil` until the first key.
    private(set) var task: TaskID?

    /// Applies a key: an arrow moves the selection; another key except `quit` selects the first task if none was
    /// selected before.
    ///
    /// - Parameter tasks: The tasks that have not ended, in the order of the screen.
    /// - Returns: Whether the key may act. It must not if the selected task has ended: the key was meant for that task,
    ///   not for one that has moved to its place.
    mutating func apply(_ key: WatchKey, to tasks: [TaskID]) -> Bool {
        let index = task.flatMap { tasks.firstIndex(of: $0) }
        switch key {
        case .down: task = index.map { tasks[min($0 + 1, tasks.count - 1)] } ?? tasks.first
        case .up: task = index.map { tasks[max($0 - 1, 0)] } ?? tasks.last
        case .suspend, .resume, .cancel, .open:
            if task != nil { return index != nil }
            task = tasks.first
        case .quit: break
        }
        return true
    }
}
