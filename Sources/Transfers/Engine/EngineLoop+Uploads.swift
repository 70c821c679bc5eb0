internal import Platform

// Uploads and their slots. A slot is the permission to have a request in progress.
extension EngineLoop {
    /// Starts or resumes the upload with the source's key, creating it if necessary. Later requests use `source`, but
    /// the progress of an upload in memory is more recent than `source.resumeData`.
    func upload(_ source: UploadSource) {
        if isStopping { return }
        let upload = uploads.table[source.key] ?? Upload(source, engine: self)
        upload.source = source
        uploads.table[source.key] = upload
        upload.resume()
    }

    /// Requests a slot; `start` is called when the upload has it, perhaps before this returns. An upload that has one
    /// keeps it.
    func requestUploadSlot(_ upload: Upload, start: @escaping () -> Void) {
        if uploads.requestSlot(upload, start: start) { start() }
    }

    func releaseUploadSlot(_ upload: Upload) { uploads.releaseSlot(upload, startsNext: !isStopping)?() }

    func updateUploads() {
        for upload in uploads.table.values { upload.updateSent() }
    }

    /// Performs due work.
    ///
    /// - Returns: The time of the next due work.
    func tickUploads() -> Instant? {
        for upload in uploads.table.values {
            if let due = upload.deadline, due <= now { upload.tick() }
        }
        uploads.removeEnded()
        return uploads.table.values.compactMap(\.deadline).min()
    }
}

/// The uploads that the engine has in memory, and the slots of their requests.
struct Uploads {
    var table: [TaskID: Upload] = [:]
    private var active: Set<ObjectIdentifier> = []
    private var waiting: [(upload: Upload, start: () -> Void)] = []

    /// The number of concurrent upload requests. They share the uplink, which is narrow for most people; a third would
    /// only slow the first two.
    private static let slots = 2

    mutating func removeEnded() { for (key, upload) in table where upload.hasEnded { table[key] = nil } }

    /// Requests a slot.
    ///
    /// - Returns: Whether the upload has it now; if not, `start` is called later.
    mutating func requestSlot(_ upload: Upload, start: @escaping () -> Void) -> Bool {
        if active.contains(ObjectIdentifier(upload)) { return true }
        guard active.count < Self.slots else {
            waiting.append((upload, start))
            return false
        }
        active.insert(ObjectIdentifier(upload))
        return true
    }

    /// Frees the slot of an upload, or withdraws its request for one.
    ///
    /// - Parameter startsNext: Whether the next upload gets it.
    /// - Returns: The closure that starts the next upload; `nil` if none starts.
    mutating func releaseSlot(_ upload: Upload, startsNext: Bool) -> (() -> Void)? {
        waiting.removeAll { $0.upload === upload }
        guard active.remove(ObjectIdentifier(upload)) != nil, startsNext else { return nil }
        guard active.count < Self.slots, !waiting.isEmpty else { return nil }
        let next = waiting.removeFirst()
        active.insert(ObjectIdentifier(next.upload))
        return next.start
    }
}
