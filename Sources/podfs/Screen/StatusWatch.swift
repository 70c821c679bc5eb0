import Foundation
import Glibc
import Platform
import PodcastFilesystem
import PodcastPages
import PodcastProtocol
import Transfers

/// `podfs status --watch`: displays the daemon's tasks until it is interrupted or `q` is typed. Ending the display does
/// not affect the transfers; keys can suspend, resume or cancel the selected task.
struct StatusWatch {
    let installation: Installation

    /// An input of the loop in `draw`.
    private enum Input: Sendable {
        /// The daemon has sent the list of its tasks, and sends an event for each later change.
        case connected(DaemonConnection, [TaskInfo])
        case event(Event)
        case failed(any Error)
        case signal(Int32)
        case keys([WatchKey])
        /// The result of a key, for the footer.
        case message(String)
        /// It is time for the next frame.
        case frame
    }

    /// Displays events until `q` is typed. A signal that ends the display also ends the process, by its default action.
    ///
    /// - Throws: If no daemon can be reached.
    func run() async throws {
        if TerminalTraits(descriptor: 1).isScreen { return try await draw() }
        var log = StatusLog()
        try await installation.follow(
            begin: { daemon -> Void? in
                let report = StatusReport(try await daemon.perform(.tasks, \.tasks))
                Terminal.print(String(report.text.dropLast()))
                log.record(report.tasks)
                return nil
            },
            next: { event, _ in
                if let line = log.line(for: event) { Terminal.print(line) }
                return nil
            })
    }

    private func draw() async throws {
        let (inputs, inbox) = AsyncStream<Input>.makeStream()
        let sources = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH].map { number in
            signalSource(number) { inbox.yield(.signal(number)) }
        }
        let keyboard = isatty(0) == 1 ? Self.keyboard { inbox.yield(.keys($0)) } : nil
        // Tasks of their own: starting a daemon takes time, and the loop must still handle Ctrl-C.
        let follower = Task(executorPreference: WorkerPool.shared) {
            do {
                try await installation.follow(
                    begin: { daemon -> Void? in
                        inbox.yield(.connected(daemon, try await daemon.perform(.tasks, \.tasks)))
                        return nil
                    },
                    next: { event, _ in
                        inbox.yield(.event(event))
                        return nil
                    })
            } catch {
                inbox.yield(.failed(error))
            }
        }
        let clock = Task(executorPreference: WorkerPool.shared) {
            while !Task.isCancelled {
                inbox.yield(.frame)
                await Timers.sleep(for: ProgressLine.interval)
            }
        }
        defer {
            for source in sources { source.cancel() }
            keyboard?.cancel()
            follower.cancel()
            clock.cancel()
        }
        var board = TaskBoard()
        var selection = TaskSelection()
        var connection: DaemonConnection?
        var message: String?
        // The alternate screen, and the lines on it; `nil` until the first frame, and while the command is stopped.
        var screen: FullScreen?
        var drawn: [String] = []
        func frame(isWhole: Bool = false) -> [String] {
            let traits = TerminalTraits(descriptor: 1)
            var frame = StatusScreen(
                width: traits.width, height: isWhole ? nil : traits.height, hasColour: traits.hasColour)
            if keyboard != nil, !isWhole {
                frame.selected = selection.task
                frame.footer = message ?? WatchKey.help
            }
            return frame.lines(board)
        }
        /// Restores the previous screen, and prints all tasks on it, including those that did not fit.
        func close() {
            guard let shown = screen else { return }
            shown.restore()
            screen = nil
            for line in frame(isWhole: true) { Terminal.write(line + "\n") }
        }
        defer { close() }
        for await input in inputs {
            switch input {
            case .connected(let made, let tasks):
                connection = made
                board.replace(with: tasks)
            case .event(let event): board.apply(event)
            case .failed(let error): throw error
            case .signal(SIGWINCH): drawn = []
            case .signal(SIGTSTP):
                close()
                kill(getpid(), SIGSTOP)
            case .signal(let number):
                close()
                Self.exit(by: number)
            case .keys(let keys):
                for key in keys {
                    if key == .quit { return }
                    let mayAct = selection.apply(key, to: board.tasks.map(\.id))
                    message = mayAct ? nil : "the selected task has ended; select another one"
                    guard let task = selection.task.flatMap(board.info), let connection else { continue }
                    Task(executorPreference: WorkerPool.shared) {
                        if let answer = await key.perform(on: task, connection) { inbox.yield(.message(answer)) }
                    }
                }
            case .message(let text): message = text
            case .frame:
                let lines = frame()
                guard connection != nil, screen == nil || lines != drawn else { continue }
                drawn = lines
                let shown = screen ?? FullScreen()
                screen = shown
                shown.draw(lines)
            }
        }
    }

    /// Reads keys from the terminal as they are typed.
    private static func keyboard(_ action: @escaping @Sendable ([WatchKey]) -> Void) -> any DispatchSourceRead {
        let source = DispatchSource.makeReadSource(fileDescriptor: 0, queue: DispatchQueue(label: "podfs.keys"))
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = read(0, &bytes, bytes.count)
            // The end of the input: the terminal was closed.
            if count == 0 { action([.quit]) }
            if count > 0 { action(WatchKey.keys(in: String(decoding: bytes.prefix(count), as: UTF8.self))) }
        }
        source.resume()
        return source
    }

    /// Ends the process with the default action of the caught signal, so that a shell sees which signal ended it.
    private static func exit(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        // raise(3) sends the signal to this thread: one sent to the process could be delivered to another thread after
        // the exit has begun. The signal stays pending while it is blocked, as on the pool's threads, and is delivered
        // before pthread_sigmask(3) returns.
        raise(number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        Glibc.exit(128 + number)
    }
}

/// A key of `podfs status --watch`.
enum WatchKey: Hashable, Sendable {
    case up, down, open, quit
    case act(TaskAction)

    /// Parses terminal input into keys. Arrow keys are sent as `ESC [ A` or, in application mode, as `ESC O A`
    /// (ECMA-48, 8.3.22; DEC VT100). Alt with a letter counts as the letter. Other keys are ignored.
    static func keys(in text: String) -> [WatchKey] {
        let arrows: [Substring: String] = ["A": "k", "B": "j"]
        return text.replacing(/\e(?:\[[0-?]*|O)([@-~])/) { arrows[$0.1] ?? "" }.compactMap { letters[$0] }
    }

    private static let letters: [Character: WatchKey] = [
        "q": .quit, "Q": .quit, "k": .up, "j": .down, "s": .act(.suspend), "r": .act(.resume), "c": .act(.cancel),
        "o": .open, "\r": .open, "\n": .open,
    ]

    /// The line that explains the keys.
    static let help = "q quit   ↑↓ select   s suspend   r resume   c cancel   o open"

    /// Performs the action of the key on a task, and returns the line to show; `nil` for an arrow key or `q`.
    func perform(on task: TaskInfo, _ daemon: DaemonConnection) async -> String? {
        switch (self, task.kind, task.episode) {
        case (.up, _, _), (.down, _, _), (.quit, _, _): nil
        case (.open, _, _): Self.open(task)
        case (.act(let action), .download, let episode?):
            await Self.act(action, .act(action, episodes: [episode]), task, daemon)
        case (.act(let action), .upload, _): await Self.act(action, .actOnUploads(action, ids: [task.id]), task, daemon)
        case (.act, let kind, _): "\(task.path): a \(kind.rawValue) cannot be suspended, resumed or cancelled"
        }
    }

    private static func act(
        _ action: TaskAction, _ command: Command, _ task: TaskInfo, _ daemon: DaemonConnection
    ) async -> String {
        do {
            let (count, problems) = try await daemon.perform(command, \.acted)
            return problems.first ?? (count > 0 ? "\(action.participle) \(task.path)" : "nothing to \(action.rawValue)")
        } catch {
            return CommandError(error).description
        }
    }

    /// Opens the episode's file with the desktop's default program, in the first mount that contains the file.
    private static func open(_ task: TaskInfo) -> String {
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
        case .act, .open:
            if task != nil { return index != nil }
            task = tasks.first
        case .quit: break
        }
        return true
    }
}
