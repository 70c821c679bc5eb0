internal import DaemonCore
internal import Glibc
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Asks for known feeds again. Where nothing has changed, which is the rule, the next is asked for at once on the
/// engine's thread; whoever keeps the library hears of many such answers together, and may be busy meanwhile.
///
/// Its queue is that of all feeds: also of those that are asked for elsewhere when their turn comes. Thread-safe.
final class FeedPump: Sendable {
    /// A feed that is known.
    final class Job: Sendable {
        let show: RefreshSubject
        private let credentials: Credentials?
        /// Whether the document is at hand of which the validators are.
        private let isKept: Bool
        private let userAgent: String?
        private let limits: FeedLimits
        /// Nobody has asked for it.
        let isScheduled: Bool

        init(
            _ show: RefreshSubject, credentials: Credentials?, isKept: Bool, userAgent: String?, limits: FeedLimits,
            isScheduled: Bool
        ) {
            self.isScheduled = isScheduled
            self.show = show
            self.credentials = credentials
            self.isKept = isKept
            self.userAgent = userAgent
            self.limits = limits
        }

        var inquiry: FeedFetcher.Inquiry {
            // Of a show without its document, which older versions did not keep, the whole is asked for once.
            FeedFetcher.Inquiry(
                show.url, reach: show.access.reach, credentials: credentials, etag: isKept ? show.etag : nil,
                lastModified: isKept ? show.lastModified : nil, userAgent: userAgent, limits: limits)
        }
    }

    /// A feed that has been asked for.
    final class Asked: Sendable {
        let job: Job
        let inquiry: FeedFetcher.Inquiry
        /// As people see it.
        let task: TaskInfo

        init(_ job: Job, task number: TaskID, now: Int64) {
            self.job = job
            inquiry = job.inquiry
            task = TaskInfo(
                id: number, kind: .refresh, path: job.show.name, episode: nil, state: .running,
                received: 0, expected: nil, rate: nil, error: nil, started: now)
        }
    }

    /// What is to be known of feeds, in the order in which it happened.
    enum Report: Sendable {
        /// Reported while somebody watches.
        case began(Asked)
        /// Nothing has changed; its place in the queue has been given back.
        case unchanged(Asked, ResponseHead)
        /// Something else is being answered, or no answer comes. Its place in the queue has to be given back.
        case answer(Asked, AsyncThrowingStream<DataEvent, any Error>)
        /// The turn of a feed that is asked for elsewhere.
        case turn(ShowID)
    }

    private struct State {
        var queue: HostQueue
        var jobs: [ShowID: Job] = [:]
        /// Whose answers nobody has taken up yet.
        var asked: [ShowID: Asked] = [:]
        var reports: [Report] = []
        var isWatched = false
        /// Somebody has been told of the reports, or will be when the timer is over.
        var isAwaited = false
        var hasTimer = false
    }

    private let state: Mutex<State>
    private let context: ServiceContext
    private let wake: AsyncStream<Void>.Continuation
    /// Gives a value when there are reports to be taken.
    let wakes: AsyncStream<Void>

    /// How long an answer without news waits for others, in milliseconds, while more feeds are being asked for: a
    /// transaction for each would take longer than the answers do. A person does not notice it.
    private static let patience = Duration.milliseconds(25)
    /// So many do not wait for more.
    private static let batch = 64

    init(queue: HostQueue, context: ServiceContext) {
        state = Mutex(State(queue: queue))
        self.context = context
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: The queue

    func withQueue<Value: Sendable>(_ body: (inout HostQueue) -> Value) -> Value {
        state.withLock { body(&$0.queue) }
    }

    /// Puts a feed at the end, unless it waits or is being asked for.
    func enqueue(_ job: Job, host: String) {
        state.withLock { state in
            if state.queue.enqueue(job.show.id, host: host) { state.jobs[job.show.id] = job }
        }
    }

    /// Something has changed of a show that may wait: what is known of it is looked up when its turn comes.
    func forgetJob(_ podcast: ShowID) { state.withLock { _ = $0.jobs.removeValue(forKey: podcast) } }

    /// Takes what may be asked for now.
    ///
    /// - Returns: requests, and the turns of feeds that are asked for elsewhere.
    func start() -> (requests: [DataTask], turns: [ShowID]) {
        let (asked, turns, isUrgent) = state.withLock { state in
            let (asked, turns) = start(&state)
            return (asked, turns, state.isWatched && !asked.isEmpty && Self.claimWake(&state))
        }
        begin(asked)
        if isUrgent { wake.yield() }
        return (asked.map(request), turns)
    }

    private func start(_ state: inout State) -> (asked: [Asked], turns: [ShowID]) {
        let now = Int64(time(nil))
        var asked: [Asked] = []
        var turns: [ShowID] = []
        for id in state.queue.start(now: now) {
            guard let job = state.jobs.removeValue(forKey: id) else {
                turns.append(id)
                continue
            }
            let begun = Asked(job, task: context.newTask(), now: now)
            state.asked[id] = begun
            asked.append(begun)
            if state.isWatched { state.reports.append(.began(begun)) }
        }
        return (asked, turns)
    }

    /// Leaves word of what runs by itself.
    private func begin(_ asked: [Asked]) {
        context.work.begin(asked.filter(\.job.isScheduled).map { WorkItem.refresh($0.job.show.id) })
    }

    private func request(_ asked: Asked) -> DataTask {
        DataTask(asked.inquiry.request, FeedReceiver(asked, of: self))
    }

    // MARK: Tasks

    /// What is being asked for, and has not been taken over by who takes the reports.
    var tasks: [TaskInfo] { state.withLock { $0.asked.values.map(\.task) } }

    /// Nothing is being asked for here, and there is nothing to report.
    var isAtRest: Bool { state.withLock { $0.asked.isEmpty && $0.reports.isEmpty } }

    // MARK: Reports

    /// - Parameter isWatched: whether somebody wants to know of each feed when it is asked for.
    func takeReports(isWatched: Bool) -> [Report] {
        state.withLock { state in
            state.isWatched = isWatched
            state.isAwaited = false
            let reports = state.reports
            state.reports = []
            for case .answer(let asked, _) in reports { state.asked[asked.job.show.id] = nil }
            return reports
        }
    }

    /// Whether somebody wants to know of each feed when it is asked for.
    func setWatched(_ isWatched: Bool) { state.withLock { $0.isWatched = isWatched } }

    /// Nothing has changed; goes on to the next.
    fileprivate func isUnchanged(_ asked: Asked, _ head: ResponseHead) -> [DataTask] {
        let id = asked.job.show.id
        let (next, isUrgent, needsTimer) = state.withLock { state in
            state.asked[id] = nil
            state.queue.finish(id, .answered, now: Int64(time(nil)))
            state.reports.append(.unchanged(asked, head))
            let (next, turns) = start(&state)
            for id in turns { state.reports.append(.turn(id)) }
            let isUrgent =
                !turns.isEmpty || state.isWatched || state.queue.runningCount == 0
                || state.reports.count >= Self.batch
            if isUrgent { return (next, Self.claimWake(&state), false) }
            let needsTimer = !state.isAwaited && !state.hasTimer
            if needsTimer { state.hasTimer = true }
            return (next, false, needsTimer)
        }
        begin(next)
        if isUrgent { wake.yield() }
        if needsTimer {
            Timers.after(Self.patience) { self.timerIsOver() }
        }
        return next.map(request)
    }

    private func timerIsOver() {
        let isUrgent = state.withLock { state in
            state.hasTimer = false
            return !state.reports.isEmpty && Self.claimWake(&state)
        }
        if isUrgent { wake.yield() }
    }

    fileprivate func isAnswered(_ asked: Asked, by answer: AsyncThrowingStream<DataEvent, any Error>) {
        let isUrgent = state.withLock { state in
            state.reports.append(.answer(asked, answer))
            return Self.claimWake(&state)
        }
        if isUrgent { wake.yield() }
    }

    private static func claimWake(_ state: inout State) -> Bool {
        if state.isAwaited { return false }
        state.isAwaited = true
        return true
    }
}

/// Hears the answer to one request for a known feed.
private final class FeedReceiver: DataReceiver {
    private struct State {
        /// That nothing has changed.
        var head: ResponseHead?
        /// Of any other answer.
        var answer: AsyncThrowingStream<DataEvent, any Error>.Continuation?
    }

    private let asked: FeedPump.Asked
    private let pump: FeedPump
    private let state = Mutex(State())

    init(_ asked: FeedPump.Asked, of pump: FeedPump) {
        self.asked = asked
        self.pump = pump
    }

    func didReceive(_ head: ResponseHead) {
        // Behind a redirect the subscription may have to move.
        if head.status == 304, asked.inquiry.isConditional, head.redirects.isEmpty {
            state.withLock { $0.head = head }
        } else {
            answer().yield(.head(head))
        }
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer) { answer().yield(.bytes([UInt8](bytes))) }

    func didEnd(_ error: TransferError?) -> [DataTask] {
        let head = state.withLock { $0.answer == nil ? $0.head : nil }
        if let head, error == nil { return pump.isUnchanged(asked, head) }
        let answer = answer()
        if let head { answer.yield(.head(head)) }
        answer.finish(throwing: error)
        return []
    }

    /// The answer as a sequence, which has been handed on.
    private func answer() -> AsyncThrowingStream<DataEvent, any Error>.Continuation {
        let (answer, stream) = state.withLock { state in
            if let answer = state.answer { return (answer, AsyncThrowingStream<DataEvent, any Error>?.none) }
            let (stream, answer) = AsyncThrowingStream<DataEvent, any Error>.makeStream()
            state.answer = answer
            return (answer, stream)
        }
        if let stream { pump.isAnswered(asked, by: stream) }
        return answer
    }
}
