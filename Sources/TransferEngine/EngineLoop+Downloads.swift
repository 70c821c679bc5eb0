internal import TransferCore

// The loaded downloads, and the conditions for all of them.
extension EngineLoop {
    func download(_ key: MediaID) -> Download? { downloads[key] }

    var snapshots: [DownloadSnapshot] { downloads.all.map(\.snapshot) }

    /// Returns the download with that key, loading its source if necessary.
    func download(_ key: MediaID, load: TransferEngine.Loader) throws -> Download {
        if let download = downloads[key] { return download }
        if isStopping { throw Self.stopped }
        let download = try Download(source: load(), engine: self, limits: configuration.limits)
        downloads[key] = download
        return download
    }

    /// Unloads a download whose file was removed.
    func discard(_ key: MediaID) {
        let download = downloads[key]
        downloads[key] = nil
        download?.discard()
    }

    func setDiscretionary(allowed: Bool) {
        guard allowed != downloads.allowsAutomatic else { return }
        downloads.allowsAutomatic = allowed
        for download in downloads.all { download.setAllowsAutomatic(allowed) }
    }

    // MARK: Storage

    /// Handles a write that failed for lack of space. The other downloads are stopped as well, since there is no space
    /// for them either. The owner is notified once, and not again before a call of `setStorageFull(nil)`.
    func storageFailed(_ error: TransferError, of key: MediaID) {
        guard case .available = downloads.storage else { return }
        downloads.storage = .full(error, byOwner: false)
        for download in downloads.all where download.source.key != key { download.storageIsFull(error) }
        emit(.storageFull(key: key, error))
    }

    func setStorageFull(_ error: TransferError?, byOwner: Bool = true) {
        downloads.storage = error.map { .full($0, byOwner: byOwner) } ?? .available
        for download in downloads.all {
            if let error {
                download.storageIsFull(error)
            } else {
                download.storageAvailable()
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

    private var table: [MediaID: Download] = [:]
    /// The downloads with deferred actions, which must not be performed in a callback of curl.
    private var dirty: [Download] = []
    /// Whether automatic downloads may run.
    var allowsAutomatic = true
    var storage = Storage.available

    subscript(_ key: MediaID) -> Download? {
        get { table[key] }
        set { table[key] = newValue }
    }

    var all: Dictionary<MediaID, Download>.Values { table.values }

    /// The reason why there is no space for more bytes.
    var storageFull: TransferError? { if case .full(let error, _) = storage { error } else { nil } }

    mutating func removeIdle() { for (key, download) in table where download.isIdle { table[key] = nil } }

    mutating func markDirty(_ download: Download) {
        if download.isDirty { return }
        download.isDirty = true
        dirty.append(download)
    }

    var areDirty: Bool { !dirty.isEmpty }

    mutating func drainDirty() -> [Download] {
        defer { dirty = [] }
        return dirty
    }
}
