internal import CLinux
internal import Dispatch
internal import Glibc
internal import Platform
internal import Synchronization

/// The event loop of the engine's thread. With one curl multi handle it drives all downloads, uploads and data
/// requests (requests whose responses go to their callers and not into the media cache).
///
/// Confined to that thread. `run` returns after a closure in the mailbox has called `stop`.
final class EngineLoop {
    let configuration: TransferConfiguration
    let cache: ContentCache
    let mailbox: Mailbox
    let queues = StorageQueues()
    let exchanges: Exchanges
    let slots: ConnectionSlots
    var downloads = Downloads()
    var uploads = Uploads()
    private let events: @Sendable (TransferEvent) -> Void
    /// Notifies the owner that all pending events and answers have been delivered. Returns the maximum delay until the
    /// next call, if any.
    private let iterationEnded: @Sendable (Instant) -> Duration?
    /// The number of events sent so far.
    private var emitted = 0
    /// The number of events that the owner has processed.
    private var acknowledged = 0
    private let network = NetworkMonitor()
    /// The time of the current iteration by the monotonic clock.
    private(set) var now = Instant.start
    /// The number of iterations of the loop. It does not grow while the thread sleeps.
    private(set) var rounds = 0
    /// Whether `stop` was called.
    private(set) var isStopping = false

    init?(
        configuration: TransferConfiguration, cache: ContentCache, mailbox: Mailbox,
        events: @escaping @Sendable (TransferEvent) -> Void, iterationEnded: @escaping @Sendable (Instant) -> Duration?
    ) {
        guard let exchanges = Exchanges() else { return nil }
        // Each queued download with stored bytes has a descriptor.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        self.exchanges = exchanges
        self.configuration = configuration
        self.cache = cache
        self.mailbox = mailbox
        self.events = events
        self.iterationEnded = iterationEnded
        slots = ConnectionSlots(configuration)
    }

    func run() {
        while !isStopping {
            rounds += 1
            readClock()
            for work in mailbox.drain() { work(self) }
            loadRequested()
            processDeferred()
            exchanges.perform()
            readClock()
            updateUploads()
            while let (owner, handle, code) = exchanges.nextEnded() { owner.easyHandle(handle, didEnd: code) }
            processDeferred()
            let deadline = tick()
            if isStopping { break }
            var pause = iterationEnded(now)
            // Start new requests before waiting. Otherwise curl would start them by its timer, which has a resolution
            // of milliseconds.
            if exchanges.hasNew || downloads.hasRequests { continue }
            // If `pause` stays `nil`, only curl and the descriptors wake the thread.
            if let deadline { pause = min(pause ?? deadline - now, deadline - now) }
            let readable = exchanges.wait(for: pause, descriptors: descriptors)
            if let network, readable.last == true {
                readClock()
                networkChanged(network.read())
            }
        }
        let error = Self.stopped
        for download in downloads.all { download.shutDown(error) }
        for upload in uploads.table.values { upload.shutDown() }
        exchanges.failData(error)
        downloads = Downloads()
        uploads = Uploads()
        queues.wait()
        cache.removeReserve()
        // Requests that reached the mailbox meanwhile are answered with a failure.
        for work in mailbox.close() { work(self) }
    }

    /// The descriptors that wake the thread besides curl's.
    private var descriptors: [Int32] { network.map { [mailbox.descriptor, $0.descriptor] } ?? [mailbox.descriptor] }

    func stop() { isStopping = true }

    static let stopped = TransferError(.failed, "the daemon is stopping")

    /// Sends an event to the engine's owner.
    ///
    /// - Returns: The event's number, for `isAcknowledged`.
    @discardableResult
    func emit(_ event: TransferEvent) -> Int {
        emitted += 1
        events(event)
        return emitted
    }

    func acknowledgeEvents(_ count: Int) {
        acknowledged += count
        downloads.markUnacknowledged()
    }

    /// Whether the owner has processed the event with this number. The sources that its loaders return then reflect
    /// the event.
    func isAcknowledged(_ event: Int) -> Bool { event <= acknowledged }

    private func readClock() { now = SystemClock.monotonic.now }

    /// Performs the work deferred by curl's callbacks, and ends connections whose slots others need.
    private func processDeferred() {
        while true {
            for download in downloads.drainDirty() {
                download.isDirty = false
                download.process()
            }
            if downloads.areDirty { continue }
            let preempted = slots.preempted(now: now)
            if preempted.isEmpty { return }
            for connection in preempted { connection.download.preempt(connection) }
        }
    }

    /// Performs due work.
    ///
    /// - Returns: The time of the next due work. All work due now has been performed or postponed, so that the loop can
    ///   sleep until then.
    private func tick() -> Instant? {
        slots.refill(now: now)
        slots.change { $0.reopen(now: now) }
        downloads.update()
        for download in downloads.drainDue(now) { download.tick() }
        processDeferred()
        downloads.update()
        return [slots.deadline, tickUploads(), downloads.deadline].compactMap(\.self).min()
    }

    /// Starts a request of a download.
    func add(_ handle: EasyHandle, owner: DownloadConnection) {
        exchanges.add(handle, owner: owner)
        // Create files in advance while curl contacts the server, since the response may need two: a cache file and its
        // checkpoint.
        if cache.isLowOnFiles { queues.preparation.async { [cache] in cache.prepare() } }
    }

    /// Starts a data request.
    ///
    /// - Parameter number: The request's number, for `cancelData`.
    func start(_ task: DataTask, number: Int64) {
        let exchange = DataExchange(task, number: number, engine: self)
        guard !isStopping,
            let handle = EasyHandle(task.request, in: configuration, reusing: exchanges.popIdleHandle())
        else {
            exchange.fail(isStopping ? Self.stopped : TransferError(.failed, "out of memory"))
            return
        }
        exchanges.add(handle, owner: exchange)
    }
}

/// The queues on which the engine waits for the disk.
///
/// There are several of each kind, because the disk writes what several threads sync in one go: of small files on ext4,
/// four threads sync six times as many as one (1.0 ms each beside 6.2). The work of one file is always on the same
/// queue, so that its checkpoints are written in order.
struct StorageQueues {
    private static let width = 4

    private let checkpoints = Self.queues("checkpoints", .unspecified)
    private let finishing = Self.queues("finishing", .utility)
    /// Computes hashes, one at a time, so that a processor is left for readers.
    let hashing = DispatchQueue(label: "podfs.hashing", qos: .utility)
    /// Creates files in advance.
    let preparation = DispatchQueue(label: "podfs.preparation")

    private static func queues(_ name: String, _ qos: DispatchQoS) -> [DispatchQueue] {
        (0..<width).map { DispatchQueue(label: "podfs.\(name).\($0)", qos: qos) }
    }

    private static func number(of file: CacheFile) -> Int { Int(file.name.hashValue.magnitude % UInt(width)) }

    /// Returns the queue for checkpoints of a file and their syncs. They do not wait for `finishing` and `hashing`,
    /// which take longer.
    func checkpoints(of file: CacheFile) -> DispatchQueue { checkpoints[Self.number(of: file)] }

    /// Returns the queue on which a file that is complete is synced and hashed.
    func finishing(of file: CacheFile) -> DispatchQueue { finishing[Self.number(of: file)] }

    /// Waits for the checkpoints that were started, and for the creation of files.
    func wait() { for queue in checkpoints + [preparation] { queue.sync {} } }
}

/// A queue of closures for the engine's thread, filled from any thread.
final class Mailbox: Sendable {
    typealias Work = @Sendable (EngineLoop) -> Void

    private struct State {
        var queue: [Work] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    /// An eventfd, readable while there may be work.
    let descriptor: Int32

    /// - Throws: if no descriptor is left. Without one, posted closures would not wake the engine's thread.
    init() throws(TransferError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw TransferError(.failed, "the engine cannot start: eventfd: \(errnoText())") }
        self.descriptor = descriptor
    }

    deinit { Glibc.close(descriptor) }

    /// Adds a closure.
    ///
    /// - Returns: `false` if the engine has ended and the closure will not run.
    @discardableResult
    func post(_ work: @escaping Work) -> Bool {
        let (isFirst, isClosed) = state.withLock { state in
            if state.isClosed { return (false, true) }
            state.queue.append(work)
            return (state.queue.count == 1, false)
        }
        if isFirst { eventfd_write(descriptor, 1) }
        return !isClosed
    }

    /// Returns the closures added since the last call, and makes the descriptor unreadable.
    func drain() -> [Work] {
        var value: eventfd_t = 0
        eventfd_read(descriptor, &value)
        return state.withLock { exchange(&$0.queue, with: []) }
    }

    /// Closes the queue and returns the remaining closures.
    func close() -> [Work] {
        state.withLock { state in
            state.isClosed = true
            return exchange(&state.queue, with: [])
        }
    }
}
