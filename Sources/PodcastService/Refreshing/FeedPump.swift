internal import DaemonCore
internal import Glibc
internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Refetches the feeds of known shows. After "not modified", the common case, the next request starts at once on the
/// engine's thread; the owner of the library, which may be busy, handles such answers in batches.
///
/// Its queue serves all feeds, including those that other code fetches when their turn comes. Thread-safe.
final class FeedPump: Sendable {
    /// A known feed to be fetched.
    final class Job: Sendable {
        let show: RefreshSubject
        private let credentials: Credentials?
        /// Whether the document that the validators belong to is stored.
        private let isKept: Bool
        /// Whether the server may send only what is new since that document.
        private let acceptsDelta: Bool
        private let userAgent: String?
        private let limits: FeedLimits
        /// Whether the refresh is scheduled rather than requested.
        let isScheduled: Bool

        init(
            _ show: RefreshSubject, credentials: Credentials?, isKept: Bool, acceptsDelta: Bool, userAgent: String?,
            limits: FeedLimits, isScheduled: Bool
        ) {
            self.isScheduled = isScheduled
            self.show = show
            self.credentials = credentials
            self.isKept = isKept
            self.acceptsDelta = acceptsDelta
            self.userAgent = userAgent
            self.limits = limits
        }

        var inquiry: FeedFetcher.Inquiry {
            // Earlier versions did not store documents; without one, request the whole feed once.
            FeedFetcher.Inquiry(
                show.url, reach: show.access.reach, credentials: credentials, etag: isKept ? show.etag : nil,
                lastModified: isKept ? show.lastModified : nil, userAgent: userAgent,
                acceptsDelta: isKept && acceptsDelta, limits: limits)
        }
    }

    /// A running request for a feed.
    final class Asked: Sendable {
        let job: Job
        let inquiry: FeedFetcher.Inquiry
        /// The task as displayed.
        let task: TaskInfo

        init(_ job: Job, task number: TaskID, now: Int64) {
            self.job = job
            inquiry = job.inquiry
            task = TaskInfo(
                id: number, kind: .refresh, path: job.show.name, episode: nil, state: .running,
                received: 0, expected: nil, rate: nil, error: nil, started: now)
        }
    }

    /// An event of a feed request; events are delivered in order.
    enum Report: Sendable {
        /// The request was sent. Reported only while a client watches.
        case began(Asked)
        /// The feed has not changed; its slot in the queue is already free.
        case unchanged(Asked, ResponseHead)
        /// Any other answer, or a failure. The receiver has to free the slot in the queue.
        case answer(Asked, AsyncThrowingStream<DataEvent, any Error>)
        /// The turn of a feed that other code fetches.
        case turn(ShowID)
    }

    private struct State {
        var queue: HostQueue
        var jobs: [ShowID: Job] = [:]
        /// Running requests, until their answers are handled.
        var asked: [ShowID: Asked] = [:]
        var reports: [Report] = []
        var isWatched = false
        /// Whether the consumer has been woken and has not fetched the reports yet.
        var isAwaited = false
        var hasTimer = false
    }

    private let state: Mutex<State>
    private let context: ServiceContext
    private let wake: AsyncStream<Void>.Continuation
    /// Yields a value when reports are ready.
    let wakes: AsyncStream<Void>

    /// Delay of "not modified" reports while more requests are running: a transaction for each would take longer than
    /// the answers. A person does not notice it.
    private static let patience = Duration.milliseconds(25)
    /// Number of reports that are delivered without waiting for more.
    private static let batch = 64

    init(queue: HostQueue, context: ServiceContext) {
        state = Mutex(State(queue: queue))
        self.context = context
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { wake.finish() }

    // MARK: The queue

    func withQueue<Value: Sendable>(_ body: (inout HostQueue) -> Value) -> Value {
        state.withLock { body(&$0.queue) }
    }

    /// Appends a feed to the queue, unless it is queued or running.
    func enqueue(_ job: Job, host: String) {
        state.withLock { state in
            if state.queue.enqueue(job.show.id, host: host) { state.jobs[job.show.id] = job }
        }
    }

    /// Discards the cached state of a queued show after a change; it is loaded again when its turn comes.
    func forgetJob(_ podcast: ShowID) { state.withLock { _ = $0.jobs.removeValue(forKey: podcast) } }

    /// Starts the requests that the limits allow.
    ///
    /// - Returns: requests, and the turns of feeds that other code fetches.
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
        let now = context.configuration.wallClock().seconds
        var asked: [Asked] = []
        var turns: [ShowID] = []
        for id in state.queue.start(now: SystemClock.boottime.now) {
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

    /// Records scheduled requests in the work journal.
    private func begin(_ asked: [Asked]) {
        context.work.begin(asked.filter(\.job.isScheduled).map { WorkItem.refresh($0.job.show.id) })
    }

    private func request(_ asked: Asked) -> DataTask {
        DataTask(asked.inquiry.request, FeedReceiver(asked, of: self))
    }

    // MARK: Tasks

    /// Tasks of running requests whose reports have not been handled.
    var tasks: [TaskInfo] { state.withLock { $0.asked.values.map(\.task) } }

    /// Whether no request is running and no report is pending.
    var isAtRest: Bool { state.withLock { $0.asked.isEmpty && $0.reports.isEmpty } }

    // MARK: Reports

    /// Removes and returns the pending reports.
    ///
    /// - Parameter isWatched: whether to report the start of each request.
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

    /// Sets whether the start of each request is reported.
    func setWatched(_ isWatched: Bool) { state.withLock { $0.isWatched = isWatched } }

    /// Handles "not modified", and returns the requests to send next.
    fileprivate func isUnchanged(_ asked: Asked, _ head: ResponseHead) -> [DataTask] {
        let id = asked.job.show.id
        let (next, isUrgent, needsTimer) = state.withLock { state in
            state.asked[id] = nil
            state.queue.finish(id, .answered, now: SystemClock.boottime.now)
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

/// The receiver of the answer to one request for a known feed.
private final class FeedReceiver: DataReceiver {
    private struct State {
        /// The head of a "not modified" answer.
        var head: ResponseHead?
        /// The stream of any other answer.
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
        // After a redirect the subscription may have to move.
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

    /// Returns the stream that carries the answer to the consumer.
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
