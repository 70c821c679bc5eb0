internal import Platform

/// The driver of one upload's state machine (`UploadMachine`), with the request in progress.
///
/// Confined to the engine's thread. curl's callbacks only record the head of a response and count the bytes of its
/// body. The response is processed when curl has finished the exchange (`ended(_:)`).
final class Upload: EasyHandleReceiver {
    /// Replaced when the upload is resumed: the owner may have new credentials.
    var source: UploadSource
    /// The loop, which owns all uploads.
    private unowned let engine: EngineLoop
    private(set) var machine: UploadMachine
    private var exchange: (id: UploadMachine.RequestID, handle: EasyHandle)?
    /// The head of the response to the current request; `nil` until it has arrived.
    private var head: ResponseHead?
    /// The least private address space of the servers that have responded so far: the internet, the local network or
    /// this computer. `nil` before the first response. It is not persisted, so that it is `nil` again after a restart.
    private var space: AddressSpace?
    /// The number of bytes received of the response's body, whose content is ignored.
    private var ignored = 0
    private var rate = RateMeter()
    /// The number of sent bytes at the last `updateSent`.
    private var counted: Int64 = 0
    /// The last reported state.
    private var reported: UploadSnapshot?
    /// The time of the next progress report.
    private var reportDue = Instant.start
    /// The time of the first of the latest consecutive checks that each found that the server has closed its side and
    /// that no bytes were sent since the previous check; `nil` if the last check found otherwise.
    private var closedSince: Instant?
    /// The time of the next check of the connection, while a request is in progress.
    private var closeCheckDue = Instant.start
    /// The number of sent bytes at the last check.
    private var checkedCount: Int64 = 0

    /// The interval of progress reports, the same as for downloads.
    private static let reportInterval = Duration.milliseconds(250)
    /// The factor by which the stall limit exceeds that of downloads: a server that has received a large file may take
    /// a while to store it before it responds.
    private static let stallFactor = 6
    /// The maximum number of bytes read from a response's body. A body within this limit is read to its end, so that
    /// the connection can be reused; a longer one ends the exchange.
    private static let maxResponseBody = 1 << 20

    /// The interval of checks of the connection. Also the minimum time from the first check that finds the connection
    /// closed by the server until the request is aborted. Meanwhile curl can read a response that the server sent
    /// before it closed.
    private static let closeCheckInterval = Duration.seconds(1)

    init(_ source: UploadSource, engine: EngineLoop) {
        self.source = source
        self.engine = engine
        machine = UploadMachine(
            url: source.url, size: source.size, resumeData: source.resumeData, retry: engine.configuration.limits.retry)
    }

    // MARK: Events

    func resume() { apply(machine.resume(now: engine.now)) }
    func suspend() { apply(machine.suspend()) }
    func cancel() { apply(machine.cancel()) }
    func recorded(_ id: UploadMachine.RecordID) { apply(machine.recorded(id)) }

    func resolveDoubt(_ finding: UploadMachine.Finding) {
        apply(machine.resolved(finding, now: engine.now, random: .random(in: 0..<1)))
    }

    var deadline: Instant? { exchange == nil ? machine.deadline : closeCheckDue }

    func tick() {
        if exchange == nil { return apply(machine.tick(now: engine.now)) }
        closeCheckDue = engine.now + Self.closeCheckInterval
        checkForClose()
    }

    /// Whether the upload has ended permanently.
    var hasEnded: Bool { [.completed, .cancelled].contains(machine.taskState) }

    /// Aborts the request when the engine stops. No event is sent: the next run continues from the progress that the
    /// owner has persisted (`UploadEvent.record`).
    func shutDown() { for case .abort(let id) in machine.suspend() { abort(id) } }

    /// Updates and reports the number of sent bytes. Called after curl was active.
    func updateSent() {
        guard let exchange, machine.awaits(exchange.id) else { return }
        let sent = exchange.handle.bytesSent
        if sent > counted { rate.add(Int(sent - counted), at: engine.now) }
        counted = sent
        machine.sent(exchange.id, sent)
        report()
    }

    /// Detects a server that closes the connection while it receives a request's body, and ends the request as lost.
    /// Without this check, the sender may wait for a TCP window that never opens: after the close, a Linux server
    /// answers window probes with a closed window for a minute.
    private func checkForClose() {
        guard let (id, handle) = exchange else { return }
        let isUnchanged = counted == checkedCount
        checkedCount = counted
        guard isUnchanged, head == nil, handle.peerHasClosed else { return closedSince = nil }
        guard let since = closedSince else { return closedSince = engine.now }
        guard engine.now - since >= Self.closeCheckInterval else { return }
        let wasSent = handle.hasSentRequest
        abort(id)
        let error = TransferError(.failed, "the server reset the connection")
        apply(machine.lost(id, error, wasSent: wasSent, isTransient: true, now: engine.now, random: .random(in: 0..<1)))
    }

    // MARK: Requests

    private func apply(_ actions: [UploadMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let id, let request):
                engine.requestUploadSlot(self) { [self] in start(id, request) }
            case .abort(let id): abort(id)
            case .record(let id, let data): record(id, data)
            case .resolveDoubt(let error): engine.emit(.upload(.doubtful(key: source.key, error)))
            case .completed:
                engine.emit(.upload(.completed(key: source.key, size: source.size)))
            case .failed(let error): engine.emit(.upload(.failed(key: source.key, error)))
            }
        }
        report()
    }

    /// Reports the progress to persist. That a POST is about to be sent is reported once the upload has its slot: after
    /// a restart, a POST that was only waiting must not look as if the server might have received it.
    private func record(_ id: UploadMachine.RecordID, _ data: UploadResumeData) {
        let report: () -> Void = { [self] in engine.emit(.upload(.record(key: source.key, id, data))) }
        if data.step == .posting { return engine.requestUploadSlot(self, start: report) }
        // A POST that is withdrawn before it was sent may have a slot.
        if data.step == .unposted { engine.releaseUploadSlot(self) }
        report()
    }

    private func start(_ id: UploadMachine.RequestID, _ request: UploadMachine.Request) {
        guard let method = method(of: request) else {
            let error = TransferError(.failed, "the copy of the file to upload is missing or damaged")
            releaseExchange()
            return apply(machine.lost(id, error, wasSent: false, isTransient: false, now: engine.now, random: 0))
        }
        var asked = EasyHandle.Request(
            url: request.url, userAgent: source.userAgent ?? engine.configuration.userAgent,
            connectTimeout: engine.configuration.limits.stall,
            stall: max(.seconds(1), engine.configuration.limits.stall) * Self.stallFactor)
        asked.method = method
        asked.fields = fields(of: request)
        asked.reach = reach(for: request.url)
        asked.credentials = source.credentials
        // The machine handles redirects, because curl would turn a POST into a GET, and forward custom fields.
        asked.followsRedirects = false
        guard let handle = EasyHandle(asked, in: engine.configuration.network) else {
            releaseExchange()
            return apply(
                machine.lost(
                    id, TransferError(.failed, "out of memory"), wasSent: false, isTransient: true, now: engine.now,
                    random: .random(in: 0..<1)))
        }
        handle.receiver = self
        head = nil
        ignored = 0
        counted = 0
        exchange = (id, handle)
        closedSince = nil
        checkedCount = 0
        closeCheckDue = engine.now + Self.closeCheckInterval
        machine.requestSent(id)
        engine.exchanges.add(handle, owner: .upload(self))
        report()
    }

    private func method(of request: UploadMachine.Request) -> EasyHandle.Method? {
        switch request {
        case .post: .post(source.form)
        case .options: .options
        case .head: .head
        case .patch(_, let offset):
            UploadBody(source.path, size: source.size, offset: offset).map { .send(method: "PATCH", $0) }
        case .put: UploadBody(source.path, size: source.size, offset: 0).map { .send(method: "PUT", $0) }
        }
    }

    private func fields(of request: UploadMachine.Request) -> [(name: String, value: String)] {
        let tus = [("Tus-Resumable", UploadMachine.tusVersion)]
        switch request {
        // A string of RFC 8941 §3.3.3, as §2.1 of the Idempotency-Key draft requires; a UUID needs no escaping.
        case .post: return [("Idempotency-Key", "\"\(source.idempotencyKey)\"")]
        case .options, .head: return tus
        case .patch(_, let offset):
            let length = machine.namesLength ? [("Upload-Length", "\(source.size)")] : []
            return tus + [("Upload-Offset", "\(offset)"), ("Content-Type", "application/offset+octet-stream")] + length
        case .put: return [("Content-Type", source.contentType ?? "application/octet-stream")]
        }
    }

    /// Returns the address space from which a request's URL came, for `EasyHandle.Request.reach`. A person entered the
    /// URL of the POST, so that the result is `nil` for a URL with the same origin. Any other URL came from a response,
    /// so that the result is the least private address space of all responses, or `public` before the first response.
    private func reach(for url: String) -> AddressSpace? {
        if let origin = WebAddress.origin(of: source.url), origin == WebAddress.origin(of: url) { return nil }
        return space ?? .public
    }

    private func abort(_ id: UploadMachine.RequestID) {
        if let exchange, exchange.id == id { engine.exchanges.remove(exchange.handle) }
        releaseExchange()
    }

    private func releaseExchange() {
        exchange = nil
        engine.releaseUploadSlot(self)
    }

    func easyHandle(_ handle: EasyHandle, didReceiveHead head: ResponseHead) { self.head = head }

    func easyHandle(_ handle: EasyHandle, didReceive bytes: UnsafeRawBufferPointer) -> EasyHandle.Verdict {
        ignored += bytes.count
        return ignored > Self.maxResponseBody ? .stop : .accepted
    }

    /// Handles the end of the exchange.
    func ended(_ code: CurlCode) {
        updateSent()
        guard let (id, handle) = exchange else { return }
        exchange = nil
        apply(result(of: id, handle, code))
        // A redirected POST has been sent again, and retains the slot.
        if exchange == nil { engine.releaseUploadSlot(self) }
    }

    private func result(of id: UploadMachine.RequestID, _ handle: EasyHandle, _ code: CurlCode) -> [UploadMachine
        .Action]
    {
        let random = Double.random(in: 0..<1)
        // A response is processed even if the server closed the connection before it had received everything, or if
        // the response's body was cut.
        if let head {
            if let space = head.space { self.space = min(self.space ?? space, space) }
            let base = try? WebAddress(head.url ?? source.url)
            let location = head["location"].flatMap { base?.resolving($0)?.text }
            return machine.answered(id, head, location: location, now: engine.now, random: random)
        }
        if let problem = handle.body?.failure {
            let error = TransferError(.failed, "the copy of the file to upload cannot be read: \(problem)")
            return machine.lost(id, error, wasSent: true, isTransient: false, now: engine.now, random: random)
        }
        let refusal = handle.failure(code)
        let failure = refusal.isTransient ? code.uploadFailure ?? refusal : refusal
        return machine.lost(
            id, failure.error, wasSent: handle.hasSentRequest, isTransient: failure.isTransient, now: engine.now,
            random: random)
    }

    // MARK: Reports

    private func report() {
        let now = engine.now
        let state = machine.taskState
        // The first sent bytes of the file are reported at once, without waiting for `reportDue`.
        let start = source.resumeData.offset
        let hasBegun = machine.sent > start && reported?.sent ?? start <= start
        let hasChanged = reported?.state != state || reported?.error != machine.error || hasBegun
        guard hasChanged || now >= reportDue && reported?.sent != machine.sent else { return }
        let snapshot = UploadSnapshot(
            key: source.key, state: state, sent: machine.sent, size: source.size,
            rate: state == .running ? rate.bytesPerSecond(at: now) : nil, error: machine.error)
        reported = snapshot
        reportDue = now + Self.reportInterval
        engine.emit(.upload(.progress(snapshot)))
    }
}

extension UploadMachine.Request {
    var url: String {
        switch self {
        case .post(let url), .options(let url), .head(let url), .patch(let url, _), .put(let url): url
        }
    }
}

/// The content of an upload, its URL, and its progress.
package struct UploadSource: Sendable {
    /// The owner's key of the upload.
    package var key: TaskID
    /// The URL of the POST.
    package var url: String
    /// The form of the POST.
    package var form: [FormPart] = []
    package var path: String
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

    package init(key: TaskID, url: String, path: String, size: Int64, idempotencyKey: String) {
        self.key = key
        self.url = url
        self.path = path
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
