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

    /// The interval of progress reports, the same as for downloads.
    private static let reportInterval = Duration.milliseconds(250)
    /// The factor by which the stall limit exceeds that of downloads: a server that has received a large file may take
    /// a while to store it before it responds.
    private static let stallFactor = 6
    /// The maximum number of bytes read from a response's body. A body within this limit is read to its end, so that
    /// the connection can be reused; a longer one ends the exchange.
    private static let maxResponseBody = 1 << 20

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

    var deadline: Instant? { machine.deadline }

    func tick() { apply(machine.tick(now: engine.now)) }

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
        var asked = DataRequest(mediaAt: request.url)
        asked.userAgent = source.userAgent
        asked.stallFactor = Self.stallFactor
        asked.fields = fields(of: request)
        asked.reach = reach(for: request.url)
        asked.credentials = source.credentials
        // The machine handles redirects, because curl would turn a POST into a GET, and forward custom fields.
        asked.followsRedirects = false
        guard let handle = EasyHandle(asked, method, in: engine.configuration) else {
            releaseExchange()
            return apply(
                machine.lost(
                    id, TransferError(.failed, "out of memory"), wasSent: false, isTransient: true, now: engine.now,
                    random: .random(in: 0..<1)))
        }
        head = nil
        ignored = 0
        counted = 0
        exchange = (id, handle)
        machine.requestSent(id)
        engine.exchanges.add(handle, owner: self)
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

    /// Returns the address space from which a request's URL came, for `DataRequest.reach`. A person entered the
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

    func easyHandle(_ handle: EasyHandle, didEnd code: CurlCode) {
        updateSent()
        guard let id = exchange?.id else { return }
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
        let failure = handle.failure(code)
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

// Uploads and their slots. A slot is the permission to have a request in progress.
extension EngineLoop {
    /// Starts or resumes the upload with the source's key, creating it if necessary. Later requests use `source`, but
    /// the progress of an upload in memory is more recent than `source.resumeData`.
    func upload(_ source: UploadSource) {
        if isStopping { return }
        let upload = uploads.table[source.key] ?? Upload(source, engine: self)
        upload.source = source
        uploads.table[source.key] = upload
        upload.resume()
    }

    /// Requests a slot; `start` is called when the upload has it, perhaps before this returns. An upload that has one
    /// keeps it.
    func requestUploadSlot(_ upload: Upload, start: @escaping () -> Void) {
        if uploads.requestSlot(upload, start: start) { start() }
    }

    func releaseUploadSlot(_ upload: Upload) { uploads.releaseSlot(upload, startsNext: !isStopping)?() }

    func updateUploads() {
        for upload in uploads.table.values { upload.updateSent() }
    }

    /// Performs due work.
    ///
    /// - Returns: The time of the next due work.
    func tickUploads() -> Instant? {
        for upload in uploads.table.values {
            if let due = upload.deadline, due <= now { upload.tick() }
        }
        uploads.removeEnded()
        return uploads.table.values.compactMap(\.deadline).min()
    }
}

/// The uploads that the engine has in memory, and the slots of their requests.
struct Uploads {
    var table: [TaskID: Upload] = [:]
    /// The uploads that have a slot, and then those that wait for one.
    private var queue: [(upload: Upload, start: () -> Void)] = []

    /// The number of concurrent upload requests. They share the uplink, which is narrow for most people; a third would
    /// only slow the first two.
    private static let slots = 2

    mutating func removeEnded() { for (key, upload) in table where upload.hasEnded { table[key] = nil } }

    /// Requests a slot.
    ///
    /// - Returns: Whether the upload has it now; if not, `start` is called later.
    mutating func requestSlot(_ upload: Upload, start: @escaping () -> Void) -> Bool {
        if let position = queue.firstIndex(where: { $0.upload === upload }) { return position < Self.slots }
        queue.append((upload, start))
        return queue.count <= Self.slots
    }

    /// Frees the slot of an upload, or withdraws its request for one.
    ///
    /// - Parameter startsNext: Whether the next upload gets it.
    /// - Returns: The closure that starts the next upload; `nil` if none starts.
    mutating func releaseSlot(_ upload: Upload, startsNext: Bool) -> (() -> Void)? {
        guard let position = queue.firstIndex(where: { $0.upload === upload }) else { return nil }
        queue.remove(at: position)
        return position < Self.slots && queue.count >= Self.slots && startsNext ? queue[Self.slots - 1].start : nil
    }
}
