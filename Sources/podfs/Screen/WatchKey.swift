import Foundation
import Glibc
import Platform
import PodcastProtocol
import Transfers

/// A key of `podfs status --watch`.
enum WatchKey: Equatable, Sendable {
    case up, down, suspend, resume, cancel, open, quit

    /// Parses terminal input into keys. Arrow keys are sent as `ESC [ A` or, in application mode, as `ESC O A`
    /// (ECMA-48, 8.3.22; DEC VT100). Alt with a letter counts as the letter. Other keys are ignored.
    static func keys(in bytes: [UInt8]) -> [WatchKey] {
        var keys: [WatchKey] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                if let key = Self.letters[byte] { keys.append(key) }
                continue
            }
            guard let kind = rest.first, kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { continue }
            rest.removeFirst()
            // Skip the parameters up to the final byte, which identifies the key.
            while let next = rest.popFirst() {
                guard (0x40...0x7E).contains(next) else { continue }
                if next == UInt8(ascii: "A") { keys.append(.up) }
                if next == UInt8(ascii: "B") { keys.append(.down) }
                break
            }
        }
        return keys
    }

    private static let letters: [UInt8: WatchKey] = [
        UInt8(ascii: "q"): .quit, UInt8(ascii: "Q"): .quit, UInt8(ascii: "k"): .up, UInt8(ascii: "j"): .down,
        UInt8(ascii: "s"): .suspend, UInt8(ascii: "r"): .resume, UInt8(ascii: "c"): .cancel, UInt8(ascii: "o"): .open,
        0x0D: .open, 0x0A: .open,
    ]

    /// The line that explains the keys, and a shorter one.
    static let help = "↑↓ select   s suspend   r resume   c cancel   o open   q quit"
    static let shortHelp = "s r c o  q quit"
}

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
