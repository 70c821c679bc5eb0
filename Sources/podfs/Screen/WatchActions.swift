import Foundation
import Glibc
import Platform
import PodcastProtocol

/// The effects of the keys of `podfs status --watch` on the selected task.
struct WatchActions: Sendable {
    let installation: Installation
    let connection: DaemonConnection

    /// Performs the action of a key, and returns the line to show; `nil` for an arrow key or `q`.
    func perform(_ key: WatchKey, on task: TaskInfo) async -> String? {
        switch key {
        case .suspend: await act(.suspend, on: task, "suspended")
        case .resume: await act(.resume, on: task, "resumed")
        case .cancel: await act(.cancel, on: task, "cancelled")
        case .open: open(task)
        case .up, .down, .quit: nil
        }
    }

    private func act(_ action: TaskAction, on task: TaskInfo, _ participle: String) async -> String {
        let command: Command
        switch (task.kind, task.episode) {
        case (.download, let episode?): command = .act(action, episodes: [episode])
        case (.upload, _): command = .actOnUploads(action, ids: [task.id])
        default: return "\(task.path): a \(task.kind.rawValue) cannot be suspended, resumed or cancelled"
        }
        do {
            let (count, problems) = try await connection.perform(command, \.acted)
            return problems.first ?? (count > 0 ? "\(participle) \(task.path)" : "nothing to \(action.rawValue)")
        } catch {
            return CommandError(error).description
        }
    }

    /// Opens the episode's file with the desktop's default program, in the first mount that contains the file.
    private func open(_ task: TaskInfo) -> String {
        guard task.kind == .download else { return "\(task.path): there is no file to open" }
        // A mount that hangs would block access(2).
        let folder = MountEntry.own().first { mount in
            guard case .process = mount.answer() else { return false }
            return access("\(mount.path)/\(task.path)", F_OK) == 0
        }
        guard let folder else { return "not mounted: podfs mount DIR" }
        var spawner = ProcessSpawner(
            "xdg-open", ["xdg-open", "\(folder.path)/\(task.path)"], environment: ProcessInfo.processInfo.environment)
        spawner.standardError = .file("/dev/null")
        spawner.startsSession = true
        do {
            reapInBackground(try spawner.start())
            return "opened \(task.path)"
        } catch {
            return "xdg-open cannot be started: \(error)"
        }
    }
}
