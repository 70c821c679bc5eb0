internal import TransferCore

// Uploads, and whose turn it is among them.
extension EngineLoop {
    /// As many requests of uploads as are under way at once. They share the way out, which is narrow for most people, and a
    /// third would only make the first two slower.
    private static let turns = 2

    /// The upload of that source, which is made when it is not at hand; it begins, or goes on.
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

    /// Does what is due.
    ///
    /// - Returns: when the next is.
    func tickUploads() -> Int64? {
        for upload in uploads.values {
            if let due = upload.deadline, due <= now { upload.tick() }
        }
        for (key, upload) in uploads where upload.isOver { uploads[key] = nil }
        return uploads.values.compactMap(\.deadline).min()
    }
}

/// Which uploads have a request under way, and what those do that wait.
struct UploadTurns {
    var active: Set<ObjectIdentifier> = []
    var waiting: [(upload: Upload, start: () -> Void)] = []
}
