internal import TransferCore

// Uploads, and their slots.
extension EngineLoop {
    /// The maximum number of concurrent upload requests. They share the uplink, which is slow for most people, and a
    /// third would only slow down the first two.
    private static let turns = 2

    /// Starts or resumes the upload of a source, creating it if necessary.
    func upload(_ source: UploadSource) {
        if isStopping { return }
        let upload = uploads[source.key] ?? Upload(source, engine: self)
        uploads[source.key] = upload
        upload.resume()
    }

    func requestUploadTurn(_ upload: Upload, start: @escaping () -> Void) {
        if uploadTurns.active.count < Self.turns {
            uploadTurns.active.insert(ObjectIdentifier(upload))
            start()
        } else {
            uploadTurns.waiting.append((upload, start))
        }
    }

    func endUploadTurn(_ upload: Upload) {
        uploadTurns.waiting.removeAll { $0.upload === upload }
        guard uploadTurns.active.remove(ObjectIdentifier(upload)) != nil, !isStopping else { return }
        guard uploadTurns.active.count < Self.turns, !uploadTurns.waiting.isEmpty else { return }
        let next = uploadTurns.waiting.removeFirst()
        uploadTurns.active.insert(ObjectIdentifier(next.upload))
        next.start()
    }

    func lookAfterUploads() {
        for upload in uploads.values { upload.look() }
    }

    /// Performs due work.
    ///
    /// - Returns: The time of the next due work.
    func tickUploads() -> Int64? {
        for upload in uploads.values {
            if let due = upload.deadline, due <= now { upload.tick() }
        }
        for (key, upload) in uploads where upload.isOver { uploads[key] = nil }
        return uploads.values.compactMap(\.deadline).min()
    }
}

/// The uploads with a request in progress, and the deferred requests of the others.
struct UploadTurns {
    var active: Set<ObjectIdentifier> = []
    var waiting: [(upload: Upload, start: () -> Void)] = []
}
