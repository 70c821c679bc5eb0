/// The content of an upload, its URL, and its progress.
package struct UploadSource: Sendable {
    /// The owner's key of the upload.
    package var key: TaskID
    /// The URL of the POST.
    package var url: String
    /// The form of the POST.
    package var form: [FormPart] = []
    package var content: UploadContent
    /// The size of the content in bytes.
    package var size: Int64
    /// The media type of the content; `nil` if unknown.
    package var contentType: String?
    /// The key sent with every attempt of the POST.
    package var idempotencyKey: String
    /// The progress of earlier runs.
    package var resumeData = UploadResumeData()
    /// Credentials, sent only to URLs of their origin.
    package var credentials: Credentials?
    /// The User-Agent, overriding the engine's.
    package var userAgent: String?

    package init(key: TaskID, url: String, content: UploadContent, size: Int64, idempotencyKey: String) {
        self.key = key
        self.url = url
        self.content = content
        self.size = size
        self.idempotencyKey = idempotencyKey
    }
}

/// The events sent to the owner of uploads.
package enum UploadEvent: Sendable {
    /// Progress that the owner must persist. The upload waits until the owner calls `TransferEngine.recorded`.
    case record(key: TaskID, UploadMachine.RecordID, UploadResumeData)
    /// The outcome of a POST is unknown. The owner must answer with `TransferEngine.resolveDoubt`.
    case doubtful(key: TaskID, TransferError?)
    /// Sent when the state changes, and a few times a second while bytes are sent.
    case progress(UploadSnapshot)
    case completed(key: TaskID, size: Int64)
    case failed(key: TaskID, TransferError)
}
