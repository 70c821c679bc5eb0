import Dispatch
import Glibc
import PodcastClient
import PodcastFilesystem
import PodcastPages
import PodcastProtocol

/// `podfs status --watch`: follows the daemon's events until it is interrupted. Transfers are none of its business: they go
/// on whatever becomes of it.
struct StatusWatch {
    let installation: Installation

    private enum Input: Sendable {
        case connected(DaemonConnection, [TaskInfo])
        case event(Event)
        /// The daemon has gone, or could not be reached.
        case lost(any Error)
        case signal(Int32)
        case frame
    }

    /// Returns when a signal has ended it; the signal is left to do what it does to programs that know nothing of it.
    func run() async throws {
        let (inputs, inbox) = AsyncStream<Input>.makeStream()
        let traits = TerminalTraits(descriptor: 1)
        // Where lines are printed one after the other a signal has nothing to tidy up.
        let numbers = traits.isScreen ? [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH] : []
        let sources = numbers.map { number in
            Self.source(number) { inbox.yield(.signal(number)) }
        }
        defer { for source in sources { source.cancel() } }
        var picture: any StatusPicture = traits.isScreen ? StatusDrawing(traits) : StatusPrinting()
        connect(inbox, after: .zero)
        var connection: DaemonConnection?
        var failures = 0
        for await input in inputs {
            var wanted: Double?
            switch input {
            case .connected(let made, let tasks):
                connection = made
                wanted = picture.replace(with: tasks)
            case .event(let event):
                // A daemon that has something to tell works.
                failures = 0
                wanted = picture.take(event)
            case .lost(let error):
                guard connection != nil, failures < Self.patience else {
                    picture.end()
                    throw error
                }
                connect(inbox, after: .milliseconds(100 << failures))
                failures += 1
            case .signal(SIGWINCH): wanted = picture.resize()
            case .signal(SIGTSTP):
                picture.end()
                kill(getpid(), SIGSTOP)
                wanted = picture.resume()
            case .signal(let number):
                picture.end()
                connection?.end()
                Self.end(by: number)
            case .frame: wanted = picture.draw()
            }
            if let wanted {
                DispatchQueue.global().asyncAfter(deadline: .now() + wanted) { inbox.yield(.frame) }
            }
        }
    }

    /// How often in a row a daemon may end before it has told anything.
    private static let patience = 6

    /// Connects, away from the loop: starting a daemon takes its time, and Ctrl-C does not wait for it.
    private func connect(_ inbox: AsyncStream<Input>.Continuation, after pause: Duration) {
        Task {
            try? await Task.sleep(for: pause)
            let connection: DaemonConnection
            do {
                connection = try installation.daemon(
                    onEvent: { inbox.yield(.event($0)) },
                    onEnd: { inbox.yield(.lost(ClientError(.disconnected, "the daemon has gone"))) })
            } catch {
                inbox.yield(.lost(error))
                return
            }
            do {
                _ = try await connection.perform(.watch)
                guard case .tasks(let tasks) = try await connection.perform(.tasks) else {
                    throw ClientError(.disagrees, "the daemon's answer cannot be read")
                }
                inbox.yield(.connected(connection, tasks))
            } catch {
                // Its end is told by itself.
                connection.end()
            }
        }
    }

    private static func source(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler(handler: action)
        source.resume()
        return source
    }

    /// Ends the process as the signal does that was caught, so that a shell sees what has ended it.
    private static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        // A signal to the process may come to another thread, after this one has left main. One to this thread waits while
        // it is blocked, as it is on threads of the dispatch library, and comes before pthread_sigmask(3) returns.
        raise(number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        exit(128 + number)
    }
}

/// Where a watch is seen. What changes returns after how many seconds `draw` is to be called, if at all.
private protocol StatusPicture {
    mutating func replace(with tasks: [TaskInfo]) -> Double?
    mutating func take(_ event: Event) -> Double?
    mutating func resize() -> Double?
    mutating func draw() -> Double?
    mutating func resume() -> Double?
    mutating func end()
}

/// Lines one after the other.
private struct StatusPrinting: StatusPicture {
    private var log = StatusLog()

    mutating func replace(with tasks: [TaskInfo]) -> Double? {
        let report = StatusReport(tasks)
        Terminal.print(String(report.text.dropLast()))
        log.note(report.tasks)
        return nil
    }

    mutating func take(_ event: Event) -> Double? {
        if let line = log.line(for: event) { Terminal.print(line) }
        return nil
    }

    mutating func resize() -> Double? { nil }
    mutating func draw() -> Double? { nil }
    mutating func resume() -> Double? { nil }
    mutating func end() {}
}

/// The whole screen.
private struct StatusDrawing: StatusPicture {
    private let board = TaskBoard()
    private var pace = FramePace()
    private var traits: TerminalTraits
    private var screen: FullScreen?

    init(_ traits: TerminalTraits) { self.traits = traits }

    private var now: Double { ContinuousClock.now.seconds }

    private func lines(isWhole: Bool = false) -> [String] {
        StatusScreen(width: traits.width, height: isWhole ? nil : traits.height, hasColour: traits.hasColour)
            .lines(board, now: now)
    }

    mutating func replace(with tasks: [TaskInfo]) -> Double? {
        board.replace(with: tasks, now: now)
        return pace.want(at: now, now: now)
    }

    mutating func take(_ event: Event) -> Double? {
        board.take(event, now: now)
        return pace.want(at: now, now: now)
    }

    mutating func resize() -> Double? {
        traits = TerminalTraits(descriptor: 1)
        return pace.want(at: now, now: now)
    }

    mutating func resume() -> Double? { resize() }

    mutating func draw() -> Double? {
        guard pace.isDue(now: now) else { return nil }
        let screen = self.screen ?? FullScreen(descriptor: 1)
        self.screen = screen
        screen.draw(lines())
        // Rates grow stale by themselves.
        guard board.tasks(now: now).contains(where: { $0.rate != nil }) else { return nil }
        return pace.want(at: now + 1, now: now)
    }

    /// What was seen last stays, below what stood on the terminal before.
    mutating func end() {
        guard let screen else { return }
        screen.end()
        self.screen = nil
        for line in lines(isWhole: true) { Terminal.write(line + "\n", to: 1) }
    }
}

extension ContinuousClock.Instant {
    private static let origin = ContinuousClock.now

    /// Of a clock that does not jump, since some time in this process.
    var seconds: Double { Self.origin.duration(to: self) / .seconds(1) }
}
