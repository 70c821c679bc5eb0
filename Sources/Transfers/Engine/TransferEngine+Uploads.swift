// Uploads. They are never automatic: a person has requested each.
extension TransferEngine {
    /// Starts an upload, or resumes one that is suspended, has failed or waits for a retry. For an existing upload only
    /// the key of the source is used.
    package func upload(_ source: UploadSource) { mailbox.post { $0.upload(source) } }

    /// Suspends an upload until `upload` is called again.
    package func suspendUpload(_ key: TaskID) { mailbox.post { $0.uploads[key]?.suspend() } }

    /// Cancels an upload permanently. The bytes that the server has already stored are not deleted.
    package func cancelUpload(_ key: TaskID) { mailbox.post { $0.uploads[key]?.cancel() } }

    /// Answers `UploadEvent.record`: the owner has persisted the progress, and the upload may continue.
    package func recorded(_ key: TaskID, _ id: UploadMachine.RecordID) {
        mailbox.post { $0.uploads[key]?.recorded(id) }
    }

    /// Answers `UploadEvent.doubtful`: the owner reports whether the server has received the POST.
    package func resolveDoubt(_ key: TaskID, _ finding: UploadMachine.Finding) {
        mailbox.post { $0.uploads[key]?.resolveDoubt(finding) }
    }
}
