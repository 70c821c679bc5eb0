package import Platform

/// The state machine of one upload: the bytes on the server, and the request in progress.
///
/// Every event is a mutating method that returns the actions to perform, in order. There is no IO, clock or random
/// number here. Times are instants of a monotonic clock.
///
/// The life of an upload:
/// - A **POST** announces the media. Its response, 201, 302 or 303 with a Location, gives their URL.
/// - **OPTIONS** to that URL finds out whether it supports tus (tus.io, version 1.0.0). If so, **HEAD** returns the
///   number of bytes on the server, and **PATCH** sends the rest; otherwise **PUT** sends all of them.
/// - Transient failures are retried after a delay, from the step that was reached.
///
/// A POST creates an entry: sent twice, it creates two. Each attempt has the same Idempotency-Key
/// (draft-ietf-httpapi-idempotency-key-header), but no server announces in advance that it supports the field. So a
/// POST with an unknown outcome (the connection broke after it was sent, a 500 or 502, a killed process) is never
/// simply repeated: the *owner* (the program that uses the engine) first checks the server. The state is persisted
/// before a POST is sent. All other requests may be repeated without harm.
package struct UploadMachine: Sendable {
    /// The id of a request, chosen by the machine.
    package typealias RequestID = Int
    /// The id of a record to persist, chosen by the machine.
    package typealias RecordID = Int

    /// A request to send; the text is its URL.
    package enum Request: Sendable, Equatable {
        case post(String)
        case options(String)
        case head(String)
        case patch(String, offset: Int64)
        case put(String)
    }

    /// An action for the driver to perform.
    package enum Action: Sendable, Equatable {
        case send(RequestID, Request)
        /// Ends a request; no further event of it is reported.
        case abort(RequestID)
        /// Persists the progress; the owner answers with `recorded`.
        case record(RecordID, UploadResumeData)
        /// Asks whether the server has received a POST; the owner answers with `resolved`. Contains the last error, if
        /// any.
        case resolveDoubt(TransferError?)
        /// The server has the complete media.
        case completed
        case failed(TransferError)
    }

    /// The owner's finding about a POST with an unknown outcome.
    package enum Finding: Sendable, Equatable {
        /// The server has received it, and the media go to this URL.
        case arrived(location: String)
        /// The POST may be repeated without a second entry: the server has not received it, or supports the
        /// Idempotency-Key.
        case repeatable
        /// The server could not be checked now.
        case later(TransferError, after: Duration?)
        /// The outcome cannot be determined, for this reason: a person has to decide.
        case unknown(String)
    }

    enum State: Sendable, Equatable {
        /// Not started, or suspended by a person. → recording, doubtful, requesting, failed, cancelled
        case suspended
        /// Waiting until the owner has persisted that a step is about to start. → requesting, suspended, cancelled
        case recording(RecordID, then: Request)
        /// The owner is checking whether the server has received the POST. → requesting, recording, waiting, failed,
        /// suspended, cancelled
        case doubtful
        /// A request waits for its slot or is in progress. → requesting, recording, waiting, completed, failed,
        /// suspended, cancelled
        case requesting(RequestID, Request, hasBegun: Bool)
        /// Waiting for the next retry. → requesting, recording, doubtful, failed, suspended, cancelled
        case waiting(until: Instant)
        case completed
        /// Retained, so that a person may resume it. → recording, doubtful, requesting, cancelled
        case failed(TransferError)
        case cancelled
    }

    /// The URL of the POST.
    package let url: String
    /// The size of the media in bytes.
    package let size: Int64
    package let retry: RetryPolicy
    package internal(set) var resumeData: UploadResumeData
    /// The number of media bytes sent or confirmed.
    package internal(set) var sent: Int64
    var state = State.suspended
    /// The URL for the POST, after the redirects so far.
    var postURL: String
    /// The number of redirects since `resume` or the last progress.
    var redirects = 0
    var attempts = DownloadMachine.Attempts()
    /// The maximum number of bytes that any attempt has sent, and that the server has reported: only more than that is
    /// progress. Otherwise a server that accepts a part and disconnects each time, or that loses and reports the same
    /// bytes in turn, would be retried forever. Fewer are reported than sent while bytes are buffered on their way.
    var furthest: (sent: Int64, confirmed: Int64)
    /// Whether a POST was repeated because the outcome of an earlier one, by this process or a former one, was unknown.
    /// The server may then still be processing the earlier one.
    var repeatsPost = false
    /// Whether the server does not know the length of the media (tus: Upload-Defer-Length in the response to HEAD).
    /// The next request with bytes, and only that one, then has to state the length.
    package internal(set) var namesLength = false
    private var lastID = 0

    /// The maximum number of redirects, the same as for downloads.
    static let maxRedirects = 10
    package static let tusVersion = "1.0.0"

    /// Creates an upload that is suspended until `resume`.
    package init(
        url: String, size: Int64, resumeData: UploadResumeData = UploadResumeData(), retry: RetryPolicy = RetryPolicy()
    ) {
        self.url = url
        self.size = size
        self.resumeData = resumeData
        self.retry = retry
        postURL = url
        sent = resumeData.offset
        furthest = (resumeData.offset, resumeData.offset)
    }

    // MARK: State

    /// The state as shown to people.
    package var taskState: TaskState {
        switch state {
        case .suspended: .suspended
        case .requesting(_, _, let hasBegun): hasBegun ? .running : .queued
        // A POST is recorded when it has its slot.
        case .recording(_, .post): .queued
        case .recording, .doubtful: .running
        case .waiting: .queued
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    /// The reason why the upload has failed or waits for a retry.
    package var error: TransferError? {
        switch state {
        case .failed(let error): error
        case .waiting: attempts.lastError
        default: nil
        }
    }

    /// Whether the machine does nothing by itself: it is suspended, has failed or has ended.
    package var isIdle: Bool {
        switch state {
        case .suspended, .completed, .failed, .cancelled: true
        case .recording, .doubtful, .requesting, .waiting: false
        }
    }

    /// The latest time for the next call of `tick`, if any.
    package var deadline: Instant? { if case .waiting(let until) = state { until } else { nil } }

    /// Returns whether a request is the current one.
    package func awaits(_ id: RequestID) -> Bool {
        if case .requesting(id, _, _) = state { true } else { false }
    }

    // MARK: Control

    /// Starts or resumes the upload at once, ignoring a retry delay.
    package mutating func resume(now: Instant) -> [Action] {
        switch state {
        case .suspended, .failed, .waiting:
            progressed()
            postURL = url
            return advance(now: now)
        case .recording, .doubtful, .requesting, .completed, .cancelled: return []
        }
    }

    /// Suspends the upload until `resume`.
    package mutating func suspend() -> [Action] {
        switch state {
        case .suspended, .completed, .failed, .cancelled: return []
        case .recording, .doubtful, .requesting, .waiting: return halt(as: .suspended)
        }
    }

    /// Cancels the upload permanently.
    package mutating func cancel() -> [Action] {
        switch state {
        case .completed, .cancelled: return []
        case .suspended, .failed, .recording, .doubtful, .requesting, .waiting: return halt(as: .cancelled)
        }
    }

    private mutating func halt(as end: State) -> [Action] {
        var actions: [Action] = []
        switch state {
        case .requesting(let id, let request, let hasBegun):
            actions.append(.abort(id))
            if case .post = request, !hasBegun { actions += withdrawPost() }
        case .recording(_, .post): actions += withdrawPost()
        default: break
        }
        state = end
        return actions
    }

    /// Reverts to the step before the POST, and persists that. Called if the POST was not sent or not processed, or if
    /// its outcome cannot be determined and a person has to decide whether to send it again.
    mutating func withdrawPost() -> [Action] {
        resumeData.step = .unposted
        return [.record(newID(), resumeData)]
    }

    mutating func newID() -> Int {
        lastID += 1
        return lastID
    }

    // MARK: Steps

    /// Performs the current step.
    mutating func advance(now: Instant) -> [Action] {
        switch resumeData.step {
        case .unposted:
            resumeData.step = .posting
            return record(then: .post(postURL))
        case .posting:
            state = .doubtful
            return [.resolveDoubt(attempts.lastError)]
        case .posted:
            guard let location = resumeData.location else {
                return fail(TransferError(.unusable, "the address of the media is unknown"))
            }
            return send(mediaRequest(to: location))
        }
    }

    func mediaRequest(to location: String) -> Request {
        switch resumeData.speaksTus {
        case nil: .options(location)
        case true?: .head(location)
        case false?: .put(location)
        }
    }

    mutating func send(_ request: Request) -> [Action] {
        let id = newID()
        state = .requesting(id, request, hasBegun: false)
        switch request {
        case .put: sent = 0
        case .patch(_, let offset): sent = offset
        case .post, .options, .head: break
        }
        return [.send(id, request)]
    }

    /// Persists the step, then sends the request.
    mutating func record(then request: Request) -> [Action] {
        let id = newID()
        state = .recording(id, then: request)
        return [.record(id, resumeData)]
    }

    /// Handles the owner's report that `record` was persisted.
    package mutating func recorded(_ id: RecordID) -> [Action] {
        guard case .recording(id, let request) = state else { return [] }
        return send(request)
    }

    /// Handles the owner's finding about a POST with an unknown outcome.
    package mutating func resolved(_ finding: Finding, now: Instant, random: Double) -> [Action] {
        guard state == .doubtful else { return [] }
        switch finding {
        case .arrived(let location): return posted(at: location, speaksTus: nil)
        case .repeatable:
            repeatsPost = true
            return send(.post(postURL))
        case .later(let error, let after): return scheduleRetry(after: error, pause: after, now: now, random: random)
        case .unknown(let reason):
            // A person resumes the upload only after checking the server, so the POST may then be sent again.
            return withdrawPost()
                + fail(
                    TransferError(
                        .failed,
                        "it is unknown whether the server accepted the post (\(reason)); check there: if it did not, "
                            + "resume the upload, otherwise cancel it"))
        }
    }

    mutating func posted(at location: String, speaksTus: Bool?) -> [Action] {
        resumeData = UploadResumeData(step: .posted, location: location, speaksTus: speaksTus)
        progressed()
        return record(then: mediaRequest(to: location))
    }

    /// Records that a request was sent, after waiting for a slot.
    package mutating func requestSent(_ id: RequestID) {
        if case .requesting(id, let request, _) = state { state = .requesting(id, request, hasBegun: true) }
    }

    /// Records the number of media bytes that the current request has sent.
    package mutating func sent(_ id: RequestID, _ count: Int64) {
        guard case .requesting(id, let request, _) = state else { return }
        switch request {
        case .put: sent = count
        case .patch(_, let offset): sent = offset + count
        case .post, .options, .head: return
        }
        if sent > furthest.sent {
            furthest.sent = sent
            progressed()
        }
    }

    mutating func progressed() {
        attempts.reset()
        redirects = 0
    }

    /// Handles the passing of `deadline`.
    package mutating func tick(now: Instant) -> [Action] {
        guard case .waiting(let until) = state, until <= now else { return [] }
        return advance(now: now)
    }

    // MARK: Failures

    mutating func scheduleRetry(after error: TransferError, pause: Duration?, now: Instant, random: Double) -> [Action]
    {
        if attempts.failed(error, now: now) >= retry.giveUp { return fail(error) }
        state = .waiting(until: now + retry.pause(attempt: attempts.count, retryAfter: pause, random: random))
        return []
    }

    mutating func fail(_ error: TransferError) -> [Action] {
        state = .failed(error)
        return [.failed(error)]
    }
}

/// The progress of an upload on its server, from which a later run continues.
package struct UploadResumeData: Sendable, Equatable, Codable {
    /// A step of an upload.
    package enum Step: String, Sendable, Codable {
        /// The server has received nothing.
        case unposted
        /// A POST is about to be sent, or was sent with an unknown outcome.
        case posting
        /// The server has given the URL of the media.
        case posted
    }

    package var step: Step
    /// The URL of the media; set if and only if `step` is `posted`.
    package var location: String?
    /// Whether that URL supports tus; `nil` if unknown.
    package var speaksTus: Bool?
    /// The number of bytes on the server, as reported over tus; 0 without tus.
    package var offset: Int64

    package init(step: Step = .unposted, location: String? = nil, speaksTus: Bool? = nil, offset: Int64 = 0) {
        self.step = step
        self.location = location
        self.speaksTus = speaksTus
        self.offset = offset
    }

    /// Returns the data of an upload to a known URL, without a POST.
    package static func at(_ location: String) -> UploadResumeData {
        UploadResumeData(step: .posted, location: location)
    }
}

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
}
