internal import Platform

// The loaded downloads, and the conditions for all of them.
extension EngineLoop {
    var snapshots: [DownloadSnapshot] {
        while downloads.hasRequests { loadRequested() }
        return downloads.all.map(\.snapshot)
    }

    /// Returns the download with that key; `nil` if it is not loaded.
    func download(_ key: MediaID) -> Download? { downloads[key] }

    /// Returns the download with that key, loading its source if necessary.
    func download(_ key: MediaID, load: TransferEngine.Loader) throws -> Download {
        loadRequested(key)
        if let download = downloads[key] { return download }
        if isStopping { throw Self.stopped }
        let download = try Download(source: load(), engine: self, limits: configuration.limits)
        downloads[key] = download
        return download
    }

    // MARK: Requests of tasks

    /// The maximum number of downloads loaded for tasks in one iteration. A person may request thousands, each takes a
    /// tenth of a millisecond, and a reader's request takes several iterations.
    private static let loadsPerRound = 2

    /// Changes a task. Nobody waits for the result, so that the change may be delayed; it precedes all later ones of
    /// the same download.
    ///
    /// - Parameter load: Loads the download if necessary; without it, the change applies only to a download that is
    ///   loaded, or that has been requested.
    func changeTask(_ key: MediaID, load: TransferEngine.Loader? = nil, _ change: @escaping (Download) -> Void) {
        if let download = downloads[key] { change(download) } else { downloads.addRequest(key, load, change) }
    }

    /// Cancels a task.
    ///
    /// - Returns: `false` if all its bytes are present, so that it completes instead.
    func cancelTask(_ key: MediaID) -> Bool {
        downloads.removeRequest(key)
        return downloads[key]?.cancel() ?? true
    }

    /// Loads some of the downloads with requested changes.
    func loadRequested() {
        for key in downloads.nextRequests(Self.loadsPerRound) { loadRequested(key) }
    }

    private func loadRequested(_ key: MediaID) {
        guard let request = downloads.removeRequest(key), let download = try? download(key, load: request.load) else {
            return
        }
        for change in request.changes { change(download) }
    }

    /// Unloads a download whose file was removed.
    func discard(_ key: MediaID) {
        downloads.removeRequest(key)
        let download = downloads[key]
        downloads[key] = nil
        download?.discard()
    }

    func setDiscretionary(allowed: Bool) {
        guard allowed != downloads.allowsAutomatic else { return }
        downloads.allowsAutomatic = allowed
        for download in downloads.all { download.change { $0.setAllowsAutomatic(allowed, now: $1) } }
    }

    // MARK: Storage

    /// Handles a write that failed for lack of space. The other downloads are stopped as well, since there is no space
    /// for them either. The owner is notified once, and not again before a call of `setStorageFull(nil)`.
    func storageFailed(_ error: TransferError, of key: MediaID) {
        guard case .available = downloads.storage else { return }
        downloads.storage = .full(error, byOwner: false)
        for download in downloads.all where download.source.key != key {
            download.change { $0.storageIsFull(error, now: $1) }
        }
        emit(.storageFull(key: key, error))
    }

    func setStorageFull(_ error: TransferError?, byOwner: Bool = true) {
        downloads.storage = error.map { .full($0, byOwner: byOwner) } ?? .available
        for download in downloads.all {
            download.change { machine, now in
                error.map { machine.storageIsFull($0, now: now) } ?? machine.storageAvailable(now: now)
            }
        }
    }

    /// Allows another write on a person's request, unless the owner has forbidden writes.
    func tryStorage() { if case .full(_, byOwner: false) = downloads.storage { setStorageFull(nil) } }
}

/// The loaded downloads, and the conditions for all of them.
struct Downloads {
    enum Storage {
        case available
        /// There is no space for more bytes: a write has failed, or the owner forbids writes (`byOwner`).
        case full(TransferError, byOwner: Bool)
    }

    /// Changes of a task whose download is not loaded.
    struct Request {
        let load: TransferEngine.Loader
        var changes: [(Download) -> Void]
    }

    private var table: [MediaID: Download] = [:]
    /// The downloads with deferred actions, which must not be performed in a callback of curl.
    private var dirty: [Download] = []
    /// The downloads that have changed since the last `update`. Only these are examined, so that the length of the
    /// queue does not matter.
    private var changed: [Download] = []
    /// The downloads that are idle except that the owner has not processed all their events.
    private var unacknowledged: [Download] = []
    private var deadlines: [MediaID: Instant] = [:]
    /// The earliest of `deadlines`, or an earlier time.
    private(set) var deadline: Instant?
    private var requests: [MediaID: Request] = [:]
    /// The keys of `requests` in their order, and keys whose requests were removed.
    private var order: ArraySlice<MediaID> = []
    /// Whether automatic downloads may run.
    var allowsAutomatic = true
    var storage = Storage.available

    subscript(_ key: MediaID) -> Download? {
        get { table[key] }
        set {
            table[key] = newValue
            if let newValue { markChanged(newValue) } else { deadlines[key] = nil }
        }
    }

    /// All loaded downloads. Not for the work of each iteration, since a queue may be long.
    var all: Dictionary<MediaID, Download>.Values { table.values }

    /// The reason why there is no space for more bytes.
    var storageFull: TransferError? { if case .full(let error, _) = storage { error } else { nil } }

    // MARK: Deadlines

    mutating func markChanged(_ download: Download) {
        if download.isChanged { return }
        download.isChanged = true
        changed.append(download)
    }

    /// Examines the downloads again that only waited for the owner to process their events.
    mutating func markUnacknowledged() {
        for download in exchange(&unacknowledged, with: []) { markChanged(download) }
    }

    /// Unloads the idle ones among the changed downloads, and updates the deadlines of the others.
    mutating func update() {
        let changed = exchange(&changed, with: [])
        for download in changed {
            download.isChanged = false
            let key = download.source.key
            guard table[key] === download else { continue }
            if download.isIdle {
                self[key] = nil
                continue
            }
            if download.awaitsNothing { unacknowledged.append(download) }
            deadlines[key] = download.deadline
            if let due = download.deadline { deadline = min(deadline ?? due, due) }
        }
        if deadlines.isEmpty { deadline = nil }
    }

    /// Returns the downloads whose deadline has passed.
    mutating func drainDue(_ now: Instant) -> [Download] {
        guard let earliest = deadline, earliest <= now else { return [] }
        let due = deadlines.filter { $0.value <= now }.keys.compactMap { table[$0] }
        for download in due {
            deadlines[download.source.key] = nil
            markChanged(download)
        }
        deadline = deadlines.values.min()
        return due
    }

    // MARK: Requests

    var hasRequests: Bool { !requests.isEmpty }

    /// Adds a change to the request for a download. Without `load` there has to be a request already.
    mutating func addRequest(_ key: MediaID, _ load: TransferEngine.Loader?, _ change: @escaping (Download) -> Void) {
        if requests[key] == nil, let load {
            requests[key] = Request(load: load, changes: [])
            order.append(key)
        }
        requests[key]?.changes.append(change)
    }

    @discardableResult
    mutating func removeRequest(_ key: MediaID) -> Request? { requests.removeValue(forKey: key) }

    /// Returns the keys of the next requests.
    mutating func nextRequests(_ count: Int) -> [MediaID] {
        // Removing from a slice moves no elements.
        defer { order = order.dropFirst(count) }
        return Array(order.prefix(count))
    }

    // MARK: Deferred actions

    mutating func markDirty(_ download: Download) {
        if download.isDirty { return }
        download.isDirty = true
        dirty.append(download)
    }

    var areDirty: Bool { !dirty.isEmpty }

    mutating func drainDirty() -> [Download] { exchange(&dirty, with: []) }
}

// Changes of this computer's network.
extension EngineLoop {
    /// Ends the connections whose local address is gone, and lets downloads continue when servers may be reachable
    /// again.
    func networkChanged(_ change: NetworkMonitor.Change) {
        if change.isNone { return }
        if change.isBack { slots.networkChanged(now: now) }
        for download in downloads.all { download.networkChanged(change) }
        // The other connections from the lost addresses are idle ones, and those of data requests and uploads, whose
        // owners retry.
        if !change.lost.isEmpty { OpenSockets.shutDown(from: change.lost) }
    }
}

extension Download {
    func networkChanged(_ change: NetworkMonitor.Change) {
        let lost = connections.values.filter { connection in
            connection.handle?.localAddress.map(change.lost.contains) ?? false
        }
        // Store the bytes that have arrived, so that they are not requested again.
        for connection in lost where connection.head == nil && machine.isFlowing(connection.id) {
            _ = connection.flush()
        }
        apply(machine.networkChanged(lost: Set(lost.map(\.id)), isBack: change.isBack, now: engine.now))
    }
}
