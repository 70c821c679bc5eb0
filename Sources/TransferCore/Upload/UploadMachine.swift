/// The state of one upload, as a value: what the server has of it, which request is under way.
///
/// Every event is a mutating method that returns the actions to perform, in order; nothing here does IO, reads a clock
/// or draws a random number. Times are milliseconds of a monotonic clock.
///
/// The life of an upload:
/// - A **POST** says what is coming. Its answer, 303 or 201 with a Location, names the place of the media.
/// - The place is asked by **OPTIONS** whether it speaks tus (tus.io, version 1.0.0). Where it does, **HEAD** says how
///   many bytes the server holds, and **PATCH** sends the rest; else **PUT** sends all of it.
/// - What fails and may pass is tried again after a pause, from the step that was reached.
///
/// A POST makes something: sent twice, it makes two. It carries the same Idempotency-Key at each try
/// (draft-ietf-httpapi-idempotency-key-header), but no server says beforehand that it heeds that field. So a POST whose
/// fate is not known (the connection broke after it was sent, a 500 or 502, a process that was killed) is never repeated
/// blindly: the owner is asked to look on the server first. That a POST is about to be sent is written down before it is.
/// All other requests may be repeated without harm.
package struct UploadMachine: Sendable {
    package typealias RequestID = Int
    package typealias RecordID = Int

    package enum Request: Sendable, Equatable {
        case post(String)
        case options(String)
        case head(String)
        case patch(String, offset: Int64)
        case put(String)

        /// Whether it carries the media.
        package var sendsBody: Bool {
            switch self {
            case .patch, .put: true
            case .post, .options, .head: false
            }
        }
    }

    package enum Action: Sendable, Equatable {
        case send(RequestID, Request)
        /// Ends a request; no further event of it is reported.
        case abort(RequestID)
        /// To be written down; `recorded` is the answer.
        case record(RecordID, UploadResumeData)
        /// A POST may or may not have reached the server: does it have what was posted? `settled` is the answer. Where the
        /// last try left an error, it is given.
        case settleDoubt(TransferError?)
        /// The server has all of it.
        case completed
        case failed(TransferError)
    }

    /// What the owner has found out about a POST whose fate was not known.
    package enum Finding: Sendable, Equatable {
        /// The server has it, and the media go there.
        case arrived(location: String)
        /// Posting again makes no second one: the server does not have it, or heeds the Idempotency-Key.
        case mayRepeat
        /// The server could not be asked now.
        case later(TransferError, after: Int64?)
        /// There is no way to find out, for the reason given: a person has to decide.
        case unknown(String)
    }

    enum State: Sendable, Equatable {
        /// Not begun, or halted by a person. → any below but `completed`, by `resume`; `cancelled`
        case suspended
        /// Waits until the owner has written down that a step is about to begin. → requesting
        case recording(RecordID, then: Request)
        /// The owner looks for what was posted. → requesting, waiting, failed
        case doubtful
        /// → requesting, recording, waiting, completed, failed
        case requesting(RequestID, Request, hasBegun: Bool)
        /// A pause before the next try. → requesting, recording, doubtful
        case waiting(until: Int64)
        case completed
        /// Kept: a person may let it go on. → any but `completed`, by `resume`; `cancelled`
        case failed(TransferError)
        case cancelled
    }

    /// Where things are posted.
    package let url: String
    /// Of the media, in bytes.
    package let size: Int64
    package let retry: RetryPolicy
    package internal(set) var resumeData: UploadResumeData
    /// Bytes of the media that the present try, and the server's word, account for.
    package internal(set) var sent: Int64
    var state = State.suspended
    /// Where a redirect has sent the POST.
    var postURL: String
    var redirects = 0
    /// Failures in a row without progress.
    var attempts = 0
    var firstFailure: Int64?
    var lastError: TransferError?
    /// The most bytes that any try has brought: only what goes beyond is progress. A server that takes some of a body and
    /// breaks off each time would else be tried for ever.
    var furthest: Int64
    /// POSTs of this run.
    var posts = 0
    /// The server does not know how long the media are (tus: Upload-Defer-Length in its answer to HEAD): the next request
    /// that brings some of them has to say so, and only that one.
    package internal(set) var namesLength = false
    private var lastID = 0

    /// As many as a browser follows, give or take.
    static let longestChain = 10
    package static let tusVersion = "1.0.0"

    /// Suspended until `resume`.
    package init(
        url: String, size: Int64, resumeData: UploadResumeData = UploadResumeData(), retry: RetryPolicy = RetryPolicy()
    ) {
        self.url = url
        self.size = size
        self.resumeData = resumeData
        self.retry = retry
        postURL = url
        sent = resumeData.offset
        furthest = resumeData.offset
    }

    /// An upload that failed in an earlier run: it stays so until `resume`.
    package mutating func setFailed(_ error: TransferError) { if state == .suspended { state = .failed(error) } }

    // MARK: What is seen from outside

    package var people: TaskState {
        switch state {
        case .suspended: .suspended
        case .requesting(_, _, let hasBegun): hasBegun ? .running : .queued
        case .recording, .doubtful: .running
        case .waiting: .queued
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    /// Why it has failed, or waits.
    package var error: TransferError? {
        switch state {
        case .failed(let error): error
        case .waiting: lastError
        default: nil
        }
    }

    /// Whether nothing more comes of it unless somebody asks.
    package var isIdle: Bool {
        switch state {
        case .suspended, .completed, .failed, .cancelled: true
        case .recording, .doubtful, .requesting, .waiting: false
        }
    }

    /// When `tick` must be called at the latest, if at all.
    package var deadline: Int64? { if case .waiting(let until) = state { until } else { nil } }

    /// Whether a request is the one under way.
    package func awaits(_ id: RequestID) -> Bool {
        if case .requesting(id, _, _) = state { true } else { false }
    }

    // MARK: What people do

    /// Begins, or goes on: at once, whatever pause there was.
    package mutating func resume(now: Int64) -> [Action] {
        switch state {
        case .suspended, .failed, .waiting:
            attempts = 0
            firstFailure = nil
            redirects = 0
            postURL = url
            return advance(now: now)
        case .recording, .doubtful, .requesting, .completed, .cancelled: return []
        }
    }

    /// Halts until `resume`.
    package mutating func suspend() -> [Action] {
        switch state {
        case .suspended, .completed, .failed, .cancelled: return []
        case .recording, .doubtful, .requesting, .waiting: return halt(as: .suspended)
        }
    }

    /// Ends it for good.
    package mutating func cancel() -> [Action] {
        switch state {
        case .completed, .cancelled: return []
        case .suspended, .failed, .recording, .doubtful, .requesting, .waiting: return halt(as: .cancelled)
        }
    }

    /// The process ends: what is under way is broken off, and goes on in the next one.
    package mutating func shutDown() -> [Action] { suspend() }

    private mutating func halt(as end: State) -> [Action] {
        var actions: [Action] = []
        switch state {
        case .requesting(let id, let request, let hasBegun):
            actions.append(.abort(id))
            if case .post = request, !hasBegun { actions += takeBackPost() }
        case .recording(_, .post): actions += takeBackPost()
        default: break
        }
        state = end
        return actions
    }

    /// The POST that was written down has not been sent: no doubt is left behind.
    mutating func takeBackPost() -> [Action] {
        resumeData.step = .unposted
        return [.record(newID(), resumeData)]
    }

    mutating func newID() -> Int {
        lastID += 1
        return lastID
    }

    // MARK: Steps

    /// Does what the step that was reached asks for.
    mutating func advance(now: Int64) -> [Action] {
        switch resumeData.step {
        case .unposted:
            resumeData.step = .posting
            return record(then: .post(postURL))
        case .posting:
            state = .doubtful
            return [.settleDoubt(lastError)]
        case .posted:
            guard let location = resumeData.location else {
                return fail(TransferError(.unusable, "the place of the media is not known"))
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
        case .post: posts += 1
        case .options, .head: break
        }
        return [.send(id, request)]
    }

    /// Has the step written down, then sends the request.
    mutating func record(then request: Request) -> [Action] {
        let id = newID()
        state = .recording(id, then: request)
        return [.record(id, resumeData)]
    }

    /// The owner has written down what `record` gave.
    package mutating func recorded(_ id: RecordID) -> [Action] {
        guard case .recording(id, let request) = state else { return [] }
        return send(request)
    }

    /// The owner has looked on the server.
    package mutating func settled(_ finding: Finding, now: Int64, random: Double) -> [Action] {
        guard state == .doubtful else { return [] }
        switch finding {
        case .arrived(let location): return posted(at: location, speaksTus: nil)
        case .mayRepeat: return send(.post(postURL))
        case .later(let error, let after): return tryLater(after: error, pause: after, now: now, random: random)
        case .unknown(let reason):
            // A person who lets it go on has looked.
            return takeBackPost()
                + fail(
                    TransferError(
                        .failed,
                        "it is not known whether the server has taken what was posted (\(reason)); look there: if not, "
                            + "let it go on, else cancel it"))
        }
    }

    mutating func posted(at location: String, speaksTus: Bool?) -> [Action] {
        resumeData = UploadResumeData(step: .posted, location: location, speaksTus: speaksTus)
        progressed()
        return record(then: mediaRequest(to: location))
    }

    /// A request is sent: it had to wait for its turn until now.
    package mutating func began(_ id: RequestID) {
        if case .requesting(id, let request, _) = state { state = .requesting(id, request, hasBegun: true) }
    }

    /// The present request has brought this many bytes of its part of the media on their way.
    package mutating func sent(_ id: RequestID, _ count: Int64) {
        guard case .requesting(id, let request, _) = state else { return }
        switch request {
        case .put: sent = count
        case .patch(_, let offset): sent = offset + count
        case .post, .options, .head: return
        }
        if sent > furthest {
            furthest = sent
            progressed()
        }
    }

    mutating func progressed() {
        attempts = 0
        firstFailure = nil
        lastError = nil
    }

    /// `deadline` has come.
    package mutating func tick(now: Int64) -> [Action] {
        guard case .waiting(let until) = state, until <= now else { return [] }
        return advance(now: now)
    }

    // MARK: Failures

    mutating func tryLater(after error: TransferError, pause: Int64?, now: Int64, random: Double) -> [Action] {
        lastError = error
        attempts += 1
        let began = firstFailure ?? now
        firstFailure = began
        if now - began >= retry.giveUp { return fail(error) }
        state = .waiting(until: now + retry.pause(attempt: attempts, retryAfter: pause, random: random))
        return []
    }

    mutating func fail(_ error: TransferError) -> [Action] {
        state = .failed(error)
        lastError = error
        return [.failed(error)]
    }
}
