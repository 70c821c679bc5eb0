package import TransferCore

/// What is to be uploaded, where to, and how far that has come.
package struct UploadSource: Sendable {
    /// The owner's name for it.
    package var key: TaskID
    /// Where it is posted.
    package var url: String
    /// What the POST says of it.
    package var form: [FormPart] = []
    package var content: UploadContent
    /// Of the content, in bytes.
    package var size: Int64
    package var contentType: String?
    /// Sent with every try of the POST.
    package var idempotencyKey: String
    package var resumeData = UploadResumeData()
    /// Sent to the addresses that they fit, and to no others.
    package var credentials: Credentials?
    /// Overrides the engine's own.
    package var userAgent: String?

    package init(key: TaskID, url: String, content: UploadContent, size: Int64, idempotencyKey: String) {
        self.key = key
        self.url = url
        self.content = content
        self.size = size
        self.idempotencyKey = idempotencyKey
    }
}

/// An upload at a moment, for people and programs.
package struct UploadSnapshot: Sendable, Equatable {
    package var key: TaskID
    package var state: TaskState
    /// Bytes of the media that are on their way, or on the server by its word.
    package var sent: Int64
    package var size: Int64
    /// Bytes per second over the last seconds; `nil` while nothing is sent.
    package var rate: Double?
    /// Why it has failed, or has to wait.
    package var error: TransferError?

    package init(
        key: TaskID, state: TaskState, sent: Int64, size: Int64, rate: Double? = nil, error: TransferError? = nil
    ) {
        self.key = key
        self.state = state
        self.sent = sent
        self.size = size
        self.rate = rate
        self.error = error
    }
}

/// What the owner of uploads is told.
package enum UploadEvent: Sendable {
    /// To be written down; `TransferEngine.recorded` is the answer, and the upload waits for it.
    case record(key: TaskID, UploadMachine.RecordID, UploadResumeData)
    /// It is not known whether a POST has arrived: `TransferEngine.settle` is the answer, in any case.
    case doubtful(key: TaskID, TransferError?)
    /// Sent when the state changes, and a few times a second while bytes go.
    case progress(UploadSnapshot)
    case completed(key: TaskID, size: Int64)
    case failed(key: TaskID, TransferError)
}
