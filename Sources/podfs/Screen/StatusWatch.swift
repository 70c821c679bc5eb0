import Dispatch
import Glibc
import Platform
import PodcastFilesystem
import PodcastPages
import PodcastProtocol
import Synchronization
import Transfers

/// `podfs status --watch`: displays the daemon's tasks until it is interrupted or `q` is typed. Ending the display does
/// not affect the transfers; keys can suspend, resume or cancel the selected task.
struct StatusWatch {
    let installation: Installation

    /// An input of the loop in `run`.
    private enum Input: Sendable {
        /// The daemon has sent the list of its tasks, and sends an event for each later change.
        case connected(DaemonConnection, [TaskInfo])
        case event(Event)
        /// The daemon has exited, or could not be reached.
        case lost(any Error)
        case signal(Int32)
        case keys([WatchKey])
        /// The result of a key, for the footer.
        case message(String)
        /// A scheduled frame is due.
        case frame
    }

    /// Displays events until `q` is typed. A signal that ends the display also ends the process, by its default action.
    ///
    /// - Throws: If no daemon can be reached.
    func run() async throws {
        let (inputs, inbox) = AsyncStream<Input>.makeStream()
        let traits = TerminalTraits(descriptor: 1)
        // Output as lines needs no cleanup after a signal.
        let numbers = traits.isScreen ? [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH] : []
        let sources = numbers.map { number in
            signalSource(number) { inbox.yield(.signal(number)) }
        }
        let keyboard = traits.isScreen && isatty(0) == 1 ? Self.keyboard { inbox.yield(.keys($0)) } : nil
        defer {
            for source in sources { source.cancel() }
            keyboard?.cancel()
        }
        var screen = traits.isScreen ? ScreenOutput(traits, hasKeys: keyboard != nil) : nil
        // The output as consecutive lines, without a screen.
        var log = StatusLog()
        connect(inbox, after: .zero)
        var connection: DaemonConnection?
        var reconnection = Reconnection()
        for await input in inputs {
            var wanted: Double?
            switch input {
            case .connected(let made, let tasks):
                connection = made
                wanted = screen?.replace(with: tasks)
                if screen == nil {
                    let report = StatusReport(tasks)
                    Terminal.print(String(report.text.dropLast()))
                    log.record(report.tasks)
                }
            case .event(let event):
                // An event shows that the daemon works.
                reconnection.succeeded()
                wanted = screen?.apply(event)
                if screen == nil, let line = log.line(for: event) { Terminal.print(line) }
            case .lost(let error):
                guard connection != nil, let pause = reconnection.next() else {
                    screen?.close()
                    throw error
                }
                connect(inbox, after: pause)
            case .signal(SIGWINCH): wanted = screen?.resize()
            case .signal(SIGTSTP):
                screen?.close()
                kill(getpid(), SIGSTOP)
                wanted = screen?.resize()
            case .signal(let number):
                screen?.close()
                connection?.close()
                Self.exit(by: number)
            case .keys(let keys):
                for key in keys {
                    if key == .quit {
                        screen?.close()
                        connection?.close()
                        return
                    }
                    wanted = screen?.press(key) ?? wanted
                    guard let task = screen?.selected, let connection else { continue }
                    let actions = WatchActions(installation: installation, connection: connection)
                    Task(executorPreference: WorkerPool.shared) {
                        if let answer = await actions.perform(key, on: task) { inbox.yield(.message(answer)) }
                    }
                }
            case .message(let text): wanted = screen?.show(text)
            case .frame: wanted = screen?.draw()
            }
            if let wanted { Timers.after(.seconds(wanted)) { inbox.yield(.frame) } }
        }
    }

    /// Connects in a task of its own: starting a daemon takes time, and the loop must still handle Ctrl-C.
    private func connect(_ inbox: AsyncStream<Input>.Continuation, after pause: Duration) {
        Task(executorPreference: WorkerPool.shared) {
            await Timers.sleep(for: pause)
            // The error for which this process closes the connection.
            let failure = Mutex<(any Error)?>(nil)
            let connection: DaemonConnection
            do {
                connection = try installation.daemon(
                    onEvent: { inbox.yield(.event($0)) },
                    onClose: { inbox.yield(.lost(failure.withLock { $0 } ?? ClientError.disconnected)) })
            } catch {
                inbox.yield(.lost(error))
                return
            }
            let fail: @Sendable (any Error) -> Void = { error in
                failure.withLock { $0 = $0 ?? error }
                // `onClose` reports the error.
                connection.close()
            }
            // The replies are handled on the thread that delivers the events. If another thread handled them, an event
            // could be applied before the list of tasks, although the daemon has sent it after the list.
            connection.send(.watch) { result in
                if case .failure(let error) = result { fail(error) }
            }
            connection.send(.tasks) { result in
                switch result {
                case .success(.tasks(let tasks)): inbox.yield(.connected(connection, tasks))
                case .success:
                    fail(ClientError.unexpectedReply)
                case .failure(let error): fail(error)
                }
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
            if count > 0 { action(WatchKey.keys(in: Array(bytes.prefix(count)))) }
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

/// The output on the whole screen. Its methods return the number of seconds after which to call `draw`; `nil` if no
/// call is needed.
private struct ScreenOutput {
    private let board = TaskBoard()
    private var pace = FramePace()
    private var traits: TerminalTraits
    /// The alternate screen; `nil` until the first frame, and after `close`.
    private var screen: FullScreen?

    private let hasKeys: Bool
    private var selection = TaskSelection()
    /// The result of the last key.
    private var message: String?

    /// - Parameter hasKeys: Whether keys can be typed.
    init(_ traits: TerminalTraits, hasKeys: Bool) {
        self.traits = traits
        self.hasKeys = hasKeys
    }

    private var now: Double { ContinuousClock.now.seconds }

    private mutating func requestFrame() -> Double? { pace.requestFrame(at: now, now: now) }

    /// - Parameter isWhole: Whether to return all lines, without footer and selection.
    private func lines(isWhole: Bool = false) -> [String] {
        var screen = StatusScreen(
            width: traits.width, height: isWhole ? nil : traits.height, hasColour: traits.hasColour)
        screen.listsEnded = true
        if hasKeys, !isWhole {
            screen.selected = selection.task
            let help = TextWidth.columns(WatchKey.help) <= traits.width ? WatchKey.help : WatchKey.shortHelp
            screen.footer = message ?? help
        }
        return screen.lines(board, now: now)
    }

    /// The task to which keys apply; `nil` if none is selected or the selected one has ended.
    var selected: TaskInfo? { selection.task.flatMap(board.info(of:)) }

    /// Applies a key to the selection. Shows a message if the key must not act because the selected task has ended.
    mutating func press(_ key: WatchKey) -> Double? {
        let mayAct = selection.apply(key, to: board.tasks(now: now).map(\.id))
        message = mayAct ? nil : "the selected task has ended; select another one"
        return requestFrame()
    }

    /// Shows the result of a key until the next key.
    mutating func show(_ message: String) -> Double? {
        self.message = message
        return requestFrame()
    }

    mutating func replace(with tasks: [TaskInfo]) -> Double? {
        board.replace(with: tasks, now: now)
        return requestFrame()
    }

    mutating func apply(_ event: Event) -> Double? {
        board.apply(event, now: now)
        return requestFrame()
    }

    /// Draws on a resized terminal, or again after `close`.
    mutating func resize() -> Double? {
        traits = TerminalTraits(descriptor: 1)
        return requestFrame()
    }

    mutating func draw() -> Double? {
        guard pace.recordIfDue(now: now) else { return nil }
        let screen = self.screen ?? FullScreen(descriptor: 1)
        self.screen = screen
        screen.draw(lines())
        // Rates expire without an event, so redraw after a second.
        guard board.tasks(now: now).contains(where: { $0.rate != nil }) else { return nil }
        return pace.requestFrame(at: now + 1, now: now)
    }

    /// Restores the previous screen, and prints all tasks on it, including those that did not fit into the last frame.
    mutating func close() {
        guard let screen else { return }
        screen.restore()
        self.screen = nil
        for line in lines(isWhole: true) { Terminal.write(line + "\n", to: 1) }
    }
}

extension ContinuousClock.Instant {
    private static let origin = ContinuousClock.now

    /// The seconds since the first use of this property in the process.
    var seconds: Double { Self.origin.duration(to: self) / .seconds(1) }
}
