internal import ContentCache
internal import Dispatch
internal import Glibc
internal import Platform
internal import TransferCore

/// The engine's thread: one curl multi handle, all downloads, uploads and data requests.
///
/// Created and used only on that thread, which exits when `stop` is called through the mailbox.
final class EngineLoop {
    let configuration: TransferConfiguration
    let cache: ContentCache
    let mailbox: Mailbox
    /// The queue of checkpoints and syncs, separate from hashing, which takes longer.
    let storage = DispatchQueue(label: "podfs.checkpoints")
    let hashing = DispatchQueue(label: "podfs.hashing", qos: .utility)
    private(set) var now: Int64 = 0
    private let multi: MultiHandle
    private let events: @Sendable (TransferEvent) -> Void
    private let turnEnded: @Sendable (Int64) -> Int64?
    /// The number of events sent to the owner; `taken` is the number that it has processed.
    private var told = 0
    private var taken = 0
    private var downloads: [MediaID: Download] = [:]
    private var dirty: [Download] = []
    private var owners: [ObjectIdentifier: DownloadConnection] = [:]
    var uploads: [TaskID: Upload] = [:]
    var uploadTurns = UploadTurns()
    /// The uploads by the handles of their requests.
    private var uploadOwners: [ObjectIdentifier: Upload] = [:]
    private var dataTasks: [ObjectIdentifier: (number: Int64, task: DataExchange)] = [:]
    /// curl handles of completed data requests, for reuse: as many as feeds are fetched concurrently.
    private var idleHandles: [OpaquePointer] = []
    private static let mostIdleHandles = 16
    private var pools: ConnectionPools
    /// The rate limits of connections, by their tokens.
    var rates: RateLimits
    /// Connections with a slot or waiting for one.
    private var turns: [ConnectionPools.Token: DownloadConnection] = [:]
    private var starts: [ConnectionPools.Token: () -> Void] = [:]
    private var nextToken = 1
    private(set) var isStopping = false
    /// Whether curl has not yet started some requests.
    private var hasNewHandles = false
    /// Whether automatic downloads may run.
    private(set) var allowsAutomatic = true
    /// The lack of space for any download.
    private(set) var storageFull: TransferError?
    /// Whether the owner has reported that, rather than a failed write.
    private var storageIsFullByOwner = false
    /// The number of iterations of the loop; constant while it is idle.
    private(set) var rounds = 0

    init?(
        configuration: TransferConfiguration, cache: ContentCache, mailbox: Mailbox,
        events: @escaping @Sendable (TransferEvent) -> Void, turnEnded: @escaping @Sendable (Int64) -> Int64?
    ) {
        guard let multi = MultiHandle() else { return nil }
        self.multi = multi
        self.configuration = configuration
        self.cache = cache
        self.mailbox = mailbox
        self.events = events
        self.turnEnded = turnEnded
        pools = ConnectionPools(limits: configuration.pools)
        rates = RateLimits(limit: configuration.rateLimit)
    }

    deinit { for handle in idleHandles { EasyHandle.discard(handle) } }

    func run() {
        while !isStopping {
            rounds += 1
            readClock()
            for work in mailbox.take() { work(self) }
            settle()
            hasNewHandles = false
            multi.perform()
            readClock()
            lookAfterUploads()
            while let (handle, code) = multi.nextEnded() { ended(handle, code) }
            settle()
            let deadline = tick()
            letGoOfIdle()
            if isStopping { break }
            var pause = turnEnded(now) ?? Int64(Int32.max)
            // Start new requests before waiting: curl's timer for them has a resolution of milliseconds.
            if hasNewHandles { continue }
            // Without a deadline only curl and the mailbox can wake the thread.
            if let deadline { pause = min(pause, deadline - now) }
            multi.wait(milliseconds: Int32(clamping: max(0, pause)), wakeUp: mailbox.descriptor)
        }
        let error = TransferError(.failed, "the daemon is stopping")
        for download in downloads.values { download.shutDown(error) }
        for upload in uploads.values { upload.shutDown() }
        for entry in dataTasks.values { entry.task.fail(error) }
        downloads = [:]
        uploads = [:]
        dataTasks = [:]
        storage.sync { cache.removeReserve() }
        // Requests that arrived meanwhile are answered with a failure.
        for work in mailbox.close() { work(self) }
    }

    func stop() { isStopping = true }

    /// Sends an event to the owner.
    ///
    /// - Returns: Its number, for `isTaken`.
    @discardableResult
    func emit(_ event: TransferEvent) -> Int {
        told += 1
        events(event)
        return told
    }

    func eventsTaken(_ count: Int) { taken += count }

    /// Whether the data of a loader include the event with this number.
    func isTaken(_ event: Int) -> Bool { event <= taken }

    private func readClock() { now = SystemClock.monotonic.milliseconds }

    /// Performs the work deferred by curl's callbacks, and ends connections that must free their slots.
    private func settle() {
        while true {
            while !dirty.isEmpty {
                let work = dirty
                dirty = []
                for download in work {
                    download.isDirty = false
                    download.process()
                }
            }
            let preempted = pools.preempted(now: now).compactMap { turns[$0] }
            if preempted.isEmpty { return }
            for connection in preempted { connection.download.preempt(connection) }
        }
    }

    /// Performs due work.
    ///
    /// - Returns: The time of the next due work. All work due now has been performed or postponed, so that the loop can
    ///   sleep until then.
    private func tick() -> Int64? {
        if let due = rates.deadline, due <= now {
            // A held connection is resumed when it is needed again.
            for token in rates.refill(now: now) { turns[token]?.handle?.resume() }
        }
        for download in downloads.values {
            if let due = download.deadline, due <= now { download.tick() }
        }
        settle()
        var deadline = pools.deadline
        if let due = tickUploads() { deadline = min(deadline ?? due, due) }
        if let due = rates.deadline { deadline = min(deadline ?? due, due) }
        for download in downloads.values {
            if let due = download.deadline { deadline = min(deadline ?? due, due) }
        }
        return deadline
    }

    private func letGoOfIdle() {
        for (key, download) in downloads where download.isIdle { downloads[key] = nil }
    }

    // MARK: Downloads

    func download(_ key: MediaID) -> Download? { downloads[key] }

    var snapshots: [DownloadSnapshot] { downloads.values.map(\.snapshot) }

    /// Returns the download with that key, loading its source if necessary.
    func download(_ key: MediaID, load: TransferEngine.Loader) throws -> Download {
        if let download = downloads[key] { return download }
        if isStopping { throw TransferError(.failed, "the daemon is stopping") }
        let download = Download(source: try load(), engine: self, limits: configuration.limits)
        downloads[key] = download
        return download
    }

    func setDiscretionary(allowed: Bool) {
        guard allowed != allowsAutomatic else { return }
        allowsAutomatic = allowed
        for download in downloads.values { download.setAllowsAutomatic(allowed) }
    }

    // MARK: Storage

    /// Handles a write that found no space: there is none for other downloads either. The owner is notified once, until
    /// it reports that there is space.
    func storageFailed(_ error: TransferError, of key: MediaID) {
        guard storageFull == nil else { return }
        storageFull = error
        for (other, download) in downloads where other != key {
            download.storageIsFull(error)
        }
        emit(.storageFull(key: key, error))
    }

    func setStorageFull(_ error: TransferError?) {
        storageFull = error
        storageIsFullByOwner = error != nil
        for download in downloads.values {
            if let error {
                download.storageIsFull(error)
            } else {
                download.storageAvailable()
            }
        }
    }

    /// Allows another write on a person's request, unless the owner has forbidden it.
    func tryStorage() {
        if storageFull != nil, !storageIsFullByOwner { setStorageFull(nil) }
    }

    func forget(_ key: MediaID) {
        downloads.removeValue(forKey: key)?.forget()
    }

    func markDirty(_ download: Download) {
        if download.isDirty { return }
        download.isDirty = true
        dirty.append(download)
    }

    // MARK: Connections

    func newToken() -> ConnectionPools.Token {
        nextToken += 1
        return nextToken
    }

    func requestTurn(
        _ connection: DownloadConnection, forReader: Bool, priority: TransferPriority, start: @escaping () -> Void
    ) {
        turns[connection.token] = connection
        let host = Self.host(of: connection.url)
        if pools.request(connection.token, host: host, forReader: forReader, priority: priority, now: now) {
            start()
        } else {
            starts[connection.token] = start
        }
    }

    func endTurn(_ token: ConnectionPools.Token) {
        turns[token] = nil
        starts[token] = nil
        begin(pools.release(token, now: now))
    }

    /// Sets whether a reader is blocked on a connection.
    func setServing(_ token: ConnectionPools.Token, _ serving: Bool) {
        begin(pools.setServing(token, serving, now: now))
    }

    /// Sets the priority of a connection's task.
    func setPriority(_ token: ConnectionPools.Token, _ priority: TransferPriority) {
        begin(pools.setPriority(token, priority, now: now))
    }

    private func begin(_ tokens: [ConnectionPools.Token]) {
        for token in tokens { starts.removeValue(forKey: token)?() }
    }

    /// The number of download requests in progress.
    var running: Int { owners.count }

    func add(_ handle: EasyHandle, owner: DownloadConnection) {
        owners[ObjectIdentifier(handle)] = owner
        multi.add(handle)
        hasNewHandles = true
        // While the server is contacted: its response may need two files.
        if cache.isLowOnFiles { storage.async { [cache] in cache.prepare() } }
    }

    func add(_ handle: EasyHandle, upload: Upload) {
        uploadOwners[ObjectIdentifier(handle)] = upload
        multi.add(handle)
        hasNewHandles = true
    }

    func remove(_ handle: EasyHandle) {
        owners[ObjectIdentifier(handle)] = nil
        uploadOwners[ObjectIdentifier(handle)] = nil
        multi.remove(handle)
    }

    private func ended(_ handle: EasyHandle, _ code: CurlCode) {
        let key = ObjectIdentifier(handle)
        if let connection = owners.removeValue(forKey: key) {
            connection.download.ended(connection, code)
        } else if let upload = uploadOwners.removeValue(forKey: key) {
            upload.ended(code)
        } else if let entry = dataTasks.removeValue(forKey: key) {
            ended(entry.task, number: entry.number, handle, code)
        }
    }

    /// Returns the authority of a URL without user info, in lower case, by which connections are counted.
    static func host(of url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        let authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return authority.split(separator: "@").last.map { $0.lowercased() } ?? ""
    }

    // MARK: Data tasks

    /// Starts a data request.
    ///
    /// - Parameter number: Its number, for `cancelData`.
    func start(_ task: DataExchange, number: Int64) {
        if isStopping {
            task.fail(TransferError(.failed, "the daemon is stopping"))
            return
        }
        guard let handle = task.makeHandle(configuration: configuration, reusing: idleHandles.popLast()) else {
            task.fail(TransferError(.failed, "out of memory"))
            return
        }
        dataTasks[ObjectIdentifier(handle)] = (number, task)
        multi.add(handle)
        hasNewHandles = true
    }

    private func ended(_ task: DataExchange, number: Int64, _ handle: EasyHandle, _ code: CurlCode) {
        let next = task.ended(code)
        if idleHandles.count < Self.mostIdleHandles, let idle = handle.surrender() { idleHandles.append(idle) }
        for task in next { start(DataExchange(task), number: number) }
    }

    func cancelData(_ number: Int64) {
        for (key, entry) in dataTasks where entry.number == number {
            dataTasks[key] = nil
            if let handle = entry.task.handle { multi.remove(handle) }
        }
    }
}
