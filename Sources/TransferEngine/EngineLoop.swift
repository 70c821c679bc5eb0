internal import ContentCache
internal import Dispatch
internal import Glibc
internal import Platform
internal import TransferCore

/// The engine's thread: one curl multi handle, all downloads and data tasks.
///
/// Made and used on that thread alone; it leaves when `stop` is called through the mailbox.
final class EngineLoop {
    let configuration: TransferConfiguration
    let cache: ContentCache
    let mailbox: Mailbox
    /// Checkpoints and syncs; apart from the hashing, which takes longer.
    let storage = DispatchQueue(label: "podfs.checkpoints")
    let hashing = DispatchQueue(label: "podfs.hashing", qos: .utility)
    private(set) var now: Int64 = 0
    private let multi: MultiHandle
    private let events: @Sendable (TransferEvent) -> Void
    private let turnEnded: @Sendable (Int64) -> Int64?
    /// Events that the owner was told of, and how many of them it has taken up.
    private var told = 0
    private var taken = 0
    private var downloads: [MediaID: Download] = [:]
    private var dirty: [Download] = []
    private var owners: [ObjectIdentifier: DownloadConnection] = [:]
    var uploads: [TaskID: Upload] = [:]
    var uploadTurns = UploadTurns()
    /// By the handles of their requests.
    private var uploadOwners: [ObjectIdentifier: Upload] = [:]
    private var dataTasks: [ObjectIdentifier: (number: Int64, task: DataExchange)] = [:]
    /// curl's handles of data tasks that have ended, for the next: as many as feeds are asked for at the same time.
    private var idleHandles: [OpaquePointer] = []
    private static let mostIdleHandles = 16
    private var pools: ConnectionPools
    /// How fast connections may be; by the tokens that they have for their turns.
    var rates: RateLimits
    /// Connections that have a turn or wait for one; and what those that wait do when it comes.
    private var turns: [ConnectionPools.Token: DownloadConnection] = [:]
    private var starts: [ConnectionPools.Token: () -> Void] = [:]
    private var nextToken = 1
    private(set) var isStopping = false
    /// Requests were made that curl has not begun.
    private var hasNewHandles = false
    /// Automatic downloads may run.
    private(set) var allowsAutomatic = true
    /// There is no space for more bytes, for any download.
    private(set) var storageFull: TransferError?
    /// The owner has said so, and not a write that failed.
    private var storageIsFullByOwner = false
    /// How often the loop has turned; it stands still while nothing happens.
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
            // A request that was made since is sent before anything is waited for: curl's timer for it has a resolution of
            // milliseconds.
            if hasNewHandles { continue }
            // Without a deadline there is nothing to wake up for but curl and the mailbox.
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
        // What came in the meantime is answered too: with a failure.
        for work in mailbox.close() { work(self) }
    }

    func stop() { isStopping = true }

    /// - Returns: its number, for `isTaken`.
    @discardableResult
    func emit(_ event: TransferEvent) -> Int {
        told += 1
        events(event)
        return told
    }

    func eventsTaken(_ count: Int) { taken += count }

    /// Whether what a loader says includes the event of this number.
    func isTaken(_ event: Int) -> Bool { event <= taken }

    private func readClock() { now = SystemClock.monotonic.milliseconds }

    /// Does what curl's callbacks left to do, and takes turns from those that have to give them up.
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

    /// Does what is due.
    ///
    /// - Returns: when the next is. Everything that is due now is done or put off by then, so that the loop sleeps
    ///   until something happens.
    private func tick() -> Int64? {
        if let due = rates.deadline, due <= now {
            // One that is held is resumed when it is wanted again.
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

    /// The download of that key; `load` is asked for its source when it is not at hand.
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

    /// A write of a download has found no space: there is none for the others either. The owner is told once, until it
    /// says that there is some.
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

    /// A person asks for a file: a write may be tried again, unless the owner has forbidden it.
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

    /// Whether a reader is blocked on a connection has changed.
    func setServing(_ token: ConnectionPools.Token, _ serving: Bool) {
        begin(pools.setServing(token, serving, now: now))
    }

    /// The task of a connection counts for more, or less, than before.
    func setPriority(_ token: ConnectionPools.Token, _ priority: TransferPriority) {
        begin(pools.setPriority(token, priority, now: now))
    }

    private func begin(_ tokens: [ConnectionPools.Token]) {
        for token in tokens { starts.removeValue(forKey: token)?() }
    }

    /// How many of the downloads' requests are under way.
    var running: Int { owners.count }

    func add(_ handle: EasyHandle, owner: DownloadConnection) {
        owners[ObjectIdentifier(handle)] = owner
        multi.add(handle)
        hasNewHandles = true
        // While the server is asked: its answer may need two.
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

    /// The authority of a URL without user info, in lower case: what connections are counted by.
    static func host(of url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        let authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return authority.split(separator: "@").last.map { $0.lowercased() } ?? ""
    }

    // MARK: Data tasks

    /// - Parameter number: a name for `cancelData`.
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
