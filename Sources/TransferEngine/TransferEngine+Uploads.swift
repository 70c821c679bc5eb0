package import TransferCore

// Uploads. They are never automatic: a person has asked for each.
extension TransferEngine {
    /// Begins an upload, or lets one go on that was suspended or has failed, or waits for its next try. Of one that is at
    /// hand already, what the source says besides its key is not looked at again.
    package func upload(_ source: UploadSource) { mailbox.post { $0.upload(source) } }

    /// Halts an upload until `upload` is called again.
    package func suspendUpload(_ key: TaskID) { mailbox.post { $0.uploads[key]?.suspend() } }

    /// Ends an upload for good. What the server has of it stays there.
    package func cancelUpload(_ key: TaskID) { mailbox.post { $0.uploads[key]?.cancel() } }

    /// The answer to `UploadEvent.record`.
    package func recorded(_ key: TaskID, _ id: UploadMachine.RecordID) {
        mailbox.post { $0.uploads[key]?.recorded(id) }
    }

    /// The answer to `UploadEvent.doubtful`.
    package func settle(_ key: TaskID, _ finding: UploadMachine.Finding) {
        mailbox.post { $0.uploads[key]?.settle(finding) }
    }
}
