/// The state of an upload at one moment.
package struct UploadSnapshot: Sendable, Equatable {
    package var key: TaskID
    package var state: TaskState
    /// The number of media bytes that the server has confirmed, plus the number of those sent since then.
    package var sent: Int64
    /// The number of media bytes.
    package var size: Int64
    /// Bytes per second, averaged over the last five seconds; `nil` unless `state` is `running`.
    package var rate: Double?
    /// The reason why the upload has failed or waits for a retry.
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
