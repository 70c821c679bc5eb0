internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import Synchronization
internal import Transfers

/// The queue of feeds to be fetched, and the running requests for the feeds of known shows. After a 304, the common
/// case, the next request starts at once on the engine's thread. `Refresher` is the consumer of the pump's reports; its
/// actor may be busy, so it handles the 304 responses in batches.
///
/// The queue also contains feeds that `Refresher` or an import fetches. When the turn of such a feed comes, the pump
/// sends no request and only reports the turn (`Report.slot`). Thread-safe.
final class FeedPump: Sendable {
    /// A known feed to be fetched.
    struct Job: Sendable {
        let show: RefreshSubject
        let request: FeedFetcher.FeedRequest
        /// Whether the refresh is scheduled rather than requested.
        let isScheduled: Bool
    }

    /// A running request for a feed.
    struct RunningRequest: Sendable {
        let job: Job
        /// The description of the request in lists of tasks.
        let task: TaskInfo
    }

    /// An event of a feed request; events are delivered in order.
    enum Report: Sendable {
        /// A request starts. Reported only while a client watches.
        case began(RunningRequest)
        /// A 304. The request's slot in the queue is already free.
        case unchanged(RunningRequest, ResponseHead)
        /// Any other response, or a failure. The consumer has to free the slot in the queue.
        case answer(RunningRequest, AsyncThrowingStream<DataEvent, any Error>)
        /// The turn of a feed that other code fetches. The consumer has to free the slot in the queue.
        case slot(ShowID)
    }

    private struct State {
        var queue: HostQueue
        var jobs: [ShowID: Job] = [:]
        /// Running requests, until a 304 arrives or the report of any other response is drained.
        var running: [ShowID: RunningRequest] = [:]
        var reports: [Report] = []
        var isWatched = false
        var hasTimer = false
    }

    private let state: Mutex<State>
    private let context: ServiceContext
    private let wake: AsyncStream<Void>.Continuation
    /// Yields a value when reports are ready.
    let wakes: AsyncStream<Void>

    /// Delay of the reports of 304 responses while more requests are running. Without it, `Refresher` would record each
    /// response in a transaction of its own, which takes longer than the response. A person does not notice the delay.
    private static let deliveryDelay = Duration.milliseconds(25)
    /// Number of pending reports at which they are delivered without delay.
    private static let batch = 64

    init(queue: HostQueue, context: ServiceContext) {
        state = Mutex(State(queue: queue))
        self.context = context
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { wake.finish() }

    // MARK: The queue

    func withQueue<Value: Sendable>(_ body: (inout HostQueue) -> Value) -> Value { state.withLock { body(&$0.queue) } }

    /// Appends a feed to the queue, unless it is queued or running.
    func enqueue(_ job: Job, host: String) {
        state.withLock { state in
            if state.queue.enqueue(job.show.id, host: host) { state.jobs[job.show.id] = job }
        }
    }

    /// Discards the job of a queued show that has changed; the show is loaded again when its turn comes.
    func removeJob(_ podcast: ShowID) { state.withLock { _ = $0.jobs.removeValue(forKey: podcast) } }

    /// Starts the queued feeds that the limits allow, and records their requests as running. The caller sends the
    /// requests.
    ///
    /// - Returns: the requests to send, and the ids of the feeds whose turn has come but that other code fetches.
    func start() -> (requests: [DataTask], slots: [ShowID]) {
        let (requests, slots, isWatched) = state.withLock { state in
            let (requests, slots) = start(&state)
            return (requests, slots, state.isWatched)
        }
        if isWatched { wake.yield() }
        return (dataTasks(for: requests), slots)
    }

    private func start(_ state: inout State) -> (requests: [RunningRequest], slots: [ShowID]) {
        let now = context.configuration.wallClock().seconds
        var requests: [RunningRequest] = []
        var slots: [ShowID] = []
        for id in state.queue.start(now: SystemClock.boottime.now) {
            guard let job = state.jobs.removeValue(forKey: id) else {
                slots.append(id)
                continue
            }
            let request = RunningRequest(
                job: job,
                task: TaskInfo(
                    id: context.newTask(), kind: .refresh, path: job.show.name, state: .running, started: now))
            state.running[id] = request
            requests.append(request)
            if state.isWatched { state.reports.append(.began(request)) }
        }
        return (requests, slots)
    }

    /// Returns requests to send. Records the scheduled ones in the work journal.
    private func dataTasks(for requests: [RunningRequest]) -> [DataTask] {
        context.work.begin(requests.filter(\.job.isScheduled).map { WorkItem.refresh($0.job.show.id) })
        return requests.map {
            DataTask(context.fetcher.dataRequest($0.job.request), FeedReceiver($0, of: self))
        }
    }

    // MARK: Tasks

    /// The displayed tasks of the running requests.
    var tasks: [TaskInfo] { state.withLock { $0.running.values.map(\.task) } }

    /// Whether no request is running and no report is pending.
    var isIdle: Bool { state.withLock { $0.running.isEmpty && $0.reports.isEmpty } }

    // MARK: Reports

    /// Removes and returns the pending reports.
    ///
    /// - Parameter isWatched: whether to report the start of each request.
    func drainReports(isWatched: Bool) -> [Report] {
        state.withLock { state in
            state.isWatched = isWatched
            let reports = state.reports
            state.reports = []
            for case .answer(let request, _) in reports { state.running[request.job.show.id] = nil }
            return reports
        }
    }

    /// Sets whether the start of each request is reported.
    func setWatched(_ isWatched: Bool) { state.withLock { $0.isWatched = isWatched } }

    /// Handles a 304, and returns the requests to send next.
    fileprivate func handleUnchanged(_ request: RunningRequest, _ head: ResponseHead) -> [DataTask] {
        let id = request.job.show.id
        let (next, isUrgent, needsTimer) = state.withLock { state in
            state.running[id] = nil
            state.queue.finish(id, .answered, now: SystemClock.boottime.now)
            state.reports.append(.unchanged(request, head))
            let (next, slots) = start(&state)
            for id in slots { state.reports.append(.slot(id)) }
            let isUrgent =
                !slots.isEmpty || state.isWatched || state.queue.runningCount == 0
                || state.reports.count >= Self.batch
            let needsTimer = !isUrgent && !state.hasTimer
            if needsTimer { state.hasTimer = true }
            return (next, isUrgent, needsTimer)
        }
        if isUrgent { wake.yield() }
        if needsTimer {
            Timers.after(Self.deliveryDelay) { [self] in
                state.withLock { $0.hasTimer = false }
                wake.yield()
            }
        }
        return dataTasks(for: next)
    }

    /// Handles the start of any other response, or a failure.
    fileprivate func handleResponse(_ request: RunningRequest, by answer: AsyncThrowingStream<DataEvent, any Error>) {
        state.withLock { $0.reports.append(.answer(request, answer)) }
        wake.yield()
    }
}

/// The receiver of the response to one request for a known feed.
private final class FeedReceiver: DataReceiver {
    private struct State {
        /// The head of a 304.
        var head: ResponseHead?
        /// The stream of any other response.
        var answer: AsyncThrowingStream<DataEvent, any Error>.Continuation?
    }

    private let request: FeedPump.RunningRequest
    private let pump: FeedPump
    private let state = Mutex(State())

    init(_ request: FeedPump.RunningRequest, of pump: FeedPump) {
        self.request = request
        self.pump = pump
    }

    func didReceive(_ head: ResponseHead) {
        // A 304 after a redirect is passed to the consumer, because the subscription may have to move.
        if head.status == 304, request.job.request.isConditional, head.redirects.isEmpty {
            state.withLock { $0.head = head }
        } else {
            answer().yield(.head(head))
        }
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer) { answer().yield(.bytes([UInt8](bytes))) }

    func didEnd(_ error: TransferError?) -> [DataTask] {
        let head = state.withLock { $0.answer == nil ? $0.head : nil }
        if let head, error == nil { return pump.handleUnchanged(request, head) }
        let answer = answer()
        if let head { answer.yield(.head(head)) }
        answer.finish(throwing: error)
        return []
    }

    /// Returns the stream that carries the response to the consumer; the first call creates and reports it.
    private func answer() -> AsyncThrowingStream<DataEvent, any Error>.Continuation {
        let (answer, stream) = state.withLock { state in
            if let answer = state.answer { return (answer, AsyncThrowingStream<DataEvent, any Error>?.none) }
            let (stream, answer) = AsyncThrowingStream<DataEvent, any Error>.makeStream()
            state.answer = answer
            return (answer, stream)
        }
        if let stream { pump.handleResponse(request, by: stream) }
        return answer
    }
}
