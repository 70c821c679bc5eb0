/// The state of one file's download, as a value: what is present, who waits, which connections run.
///
/// Every event is a mutating method that returns the actions to perform; nothing here does IO, reads a clock or draws
/// a random number, so each transition is tested as a comparison of values. The driver performs the actions in order,
/// on one thread, and reports what comes of them as further events. Times are milliseconds of a monotonic clock.
///
/// The life of a download:
/// - *open* of a file whose size no server has confirmed sends a request and waits for its head; the response is then
///   **held** (paused, unread) until a read comes, at most `Limits.hold`.
/// - The first *read* makes it a **filling** task: the whole file is fetched, holes front to back. A read elsewhere
///   opens at most one more connection at its offset; while any reader is blocked, connections that do not serve one
///   yield.
/// - When every byte is present the file is **finishing** (synced, hashed by the driver), then **cached**.
/// - An answer that belongs to another rendition begins a new **generation**: a new file from zero; readers of the old
///   one are told that it changed.
///
/// A rendition is *proven* by a strong validator. Where there is none, bytes join only where bytes meet: a continuation
/// reads the last `Limits.overlap` bytes again, and a read elsewhere waits for the one stream to come past.
package struct DownloadMachine: Sendable {
    package typealias ConnectionID = Int
    /// Names a waiting open or read; given by the driver.
    package typealias WaitID = Int64

    package struct Limits: Sendable, Equatable {
        /// A connection that sends no head for so long has stalled, in milliseconds.
        package var stall: Int64 = 20_000
        /// How long a reader waits without any progress of the download.
        package var readerDeadline: Int64 = 60_000
        /// What counts as progress, in new bytes a second over the reader's deadline: fewer than a modem of 1980 brings are
        /// no stream that anybody can listen to.
        package var leastRate: Int64 = 256
        /// How long a response is held for a first read.
        package var hold: Int64 = 10_000
        /// How long a permanent failure is answered from memory.
        package var failureMemory: Int64 = 60_000
        /// A reader this many bytes ahead of a connection waits for it rather than opening another: what a request of
        /// its own would cost at common rates (two round trips of 50 ms at 5 MB/s).
        package var reach: Int64 = 512 * 1024
        /// A connection that yields and whose server would send more than this beyond where it stops is ended instead: the
        /// sockets take some megabytes while it yields, all for nothing, where a later request costs a round trip.
        package var excess: Int64 = 1 << 20
        /// Bytes read again where no strong validator shows that the rendition is the same.
        package var overlap: Int64 = 64 * 1024
        /// One that fills and one that serves a reader elsewhere.
        package var connections = 2
        /// New renditions in a row, none of which became whole: a server that contradicts itself so often (a length that
        /// is not the body's, another tag with every answer) would be asked for the same bytes for ever.
        package var renewals = 4
        /// Answers in a row whose bodies end at the same byte, before the end that they announce.
        package var sameEnds = 3
        package var expects = ContentExpectation.media
        /// Whether the owner is asked for a newer address when the one that it gave is refused. It has to answer.
        package var renewsAddress = false
        /// How long an owner may take for that: to fetch a feed it has ten minutes, and one more to store it.
        package var renewal: Int64 = 660_000
        package var retry = RetryPolicy()

        package init() {}
    }

    /// A request to send.
    package struct ConnectRequest: Sendable, Equatable {
        /// The first byte to ask for.
        package var offset: Int64
        /// The byte after the last one to ask for; `nil` asks to the end.
        package var end: Int64?
        /// Whether to send a Range at all.
        package var ranged: Bool
        package var ifRange: Validator?
        /// Ask where the last answer came from, not where the feed points.
        package var direct: Bool
        /// A reader is waiting for it: it belongs to the readers' pool of connections.
        package var forReader: Bool
    }

    package enum Action: Sendable, Equatable {
        case connect(ConnectionID, ConnectRequest)
        /// Ends a connection; no further event of it is reported.
        case abort(ConnectionID)
        /// A connection that has brought its last byte: it ends by itself and may be kept for another request. No
        /// further event of it is reported.
        case release(ConnectionID)
        /// Nobody waits for its bytes now; it goes on soon.
        case pause(ConnectionID)
        /// Paused with no end in sight: it is kept, but gives its turn to others.
        case hold(ConnectionID)
        /// Goes on, after `pause` or `hold`; in the second case it needs a turn again.
        case resume(ConnectionID, forReader: Bool)
        /// Whether a blocked reader waits for its bytes has changed; it was so at first when the request was `forReader`.
        case serving(ConnectionID, Bool)
        /// A server has said how large the file is, or that it is another one than before.
        case confirmed(generation: Int, Pin)
        /// Bytes are about to come: the cache file of this generation is needed.
        case createFile(generation: Int, Pin)
        /// The old generation's file takes no more bytes.
        case abandonFile(generation: Int)
        case answerOpen(WaitID, TransferError?)
        case answerRead(WaitID, TransferError?)
        /// Every byte is present: sync, hash, mark.
        case finish(generation: Int)
        case failed(TransferError)
        /// There was no space for bytes that had to be stored: everything rests until `storageAvailable`.
        case storageFull(TransferError)
        /// The owner's address was refused: is there a newer one? `addressRenewed` is the answer.
        case renewAddress(TransferError)
        /// The task counts for more, or less, than before; its connections had the priority that it had when they began.
        case prioritized(TransferPriority)
    }

    /// What to do with the next bytes of a connection.
    package enum Step: Sendable, Equatable {
        case write(until: Int64?)
        /// Present already: compare with the file.
        case compare(until: Int64)
        /// Present already and known to be the same rendition: pass over.
        case skip(until: Int64)
        /// The next byte is not this connection's: end it.
        case stop
    }

    /// How a connection ended by itself.
    package enum Ending: Sendable, Equatable {
        /// The body came to its end as the protocol defines it.
        case complete
        /// `Step.stop` was reached.
        case stopped
        /// Something that may pass. With a body under way, it has ended before its end.
        case failure(TransferError)
        /// Something that trying again does not mend.
        case refusal(TransferError)
    }

    struct Connection: Sendable, Equatable {
        var request: ConnectRequest
        /// When the request was sent; `nil` while it waits for its turn.
        var started: Int64?
        /// The offset of the next byte.
        var position: Int64
        /// Bytes from here on belong to others.
        var limit: Int64?
        var receiving = false
        var paused = false
        var heldUntil: Int64?
        /// Bytes that are present already have to be compared with what it brings.
        var compares = false
        /// The validator of its answer, to be believed once the comparison has gone well.
        var found: Validator?
        /// The answer is a 206: its end need not be the file's.
        var isPart = false
        /// Where the body ends by what its head says.
        var bodyEnd: Int64?
        /// What its head gives as the length, where no file can be as long.
        var excess: String?
        /// It has brought a byte that was missing.
        var hasWritten = false
        /// A blocked reader waits for its bytes, as last told to the driver.
        var serves: Bool
    }

    struct Wait: Sendable, Equatable {
        var id: WaitID
        var range: Range<Int64>
        var since: Int64
    }

    package let limits: Limits
    /// The rendition's number; a new rendition has a greater one.
    package internal(set) var generation: Int
    package internal(set) var pin: Pin?
    package internal(set) var present: ByteRanges
    /// Whether the generation has a cache file.
    package internal(set) var hasFile: Bool
    package internal(set) var isCached = false
    package internal(set) var isFinishing = false
    /// A download task exists: the whole file is wanted.
    package internal(set) var isFilling = false
    /// A person has suspended the task.
    package internal(set) var isSuspended = false
    /// What the task counts for; while nobody reads.
    package internal(set) var priority = TransferPriority.asked
    /// Automatic tasks may run: the link is unmetered, say.
    package internal(set) var allowsAutomatic = true
    package internal(set) var failure: TransferError?
    /// There is no space for more bytes: nothing is asked for until there is.
    package internal(set) var storageFull: TransferError?
    /// The whole file has no space yet: it is not filled in the background, and readers are served.
    package internal(set) var awaitsSpace: TransferError?
    /// When the failure is remembered no more; `nil` once that has come.
    var failureForgotten: Int64?
    var connections: [ConnectionID: Connection] = [:]
    var nextConnection: ConnectionID = 1
    var opens: [(id: WaitID, since: Int64)] = []
    var reads: [Wait] = []
    /// Open files; while there is one, a held response is kept.
    package internal(set) var handles = 0
    /// Failures in a row without progress.
    var attempts = 0
    var firstFailure: Int64?
    /// The failure of the last connection.
    var lastError: TransferError?
    /// What went wrong last with a task that goes on, shown until there is progress.
    var recentError: TransferError?
    /// Where the last bodies ended before their end, and how many of them in a row.
    var earlyEnd: (position: Int64, count: Int)?
    var retryAt: Int64?
    /// The pause was asked for by the server: a new reader does not cut it short.
    var retryIsServers = false
    var lastTry: Int64 = .min
    var lastProgress: Int64 = .min
    /// New bytes since a moment that is at most a reader's deadline ago.
    var recentBytes: (since: Int64, count: Int64) = (.min, 0)
    /// Answers that were none to the question; from the second on ranges are no longer asked for.
    var lies = 0
    /// An answer did not show the validator that the rendition has: it proves nothing any more.
    var distrusts = false
    /// An answer has shown that there is no strong validator.
    var lacksValidator = false
    /// New generations since the last whole file.
    var renewals = 0
    /// The address that the last answer came from may be asked directly.
    var knowsDirect: Bool
    /// What is here came from another address than the next answer will: tags of two addresses say nothing of each
    /// other, so bytes have to be compared before anything else is believed.
    var isForeign = false
    /// The owner looks for a newer address, since when, and what was wrong with the one before.
    var awaitedAddress: (since: Int64, error: TransferError)?
    /// When the owner was last asked for one.
    var lastRenewal: Int64?

    /// - Parameters:
    ///   - generation: the rendition's number.
    ///   - pin: what is known of the rendition: its confirmed size, its validator.
    ///   - present: what a cache file of this generation holds already, when there is one.
    ///   - isCached: that file is whole, checked and hashed.
    ///   - knowsDirect: the address that its bytes came from is known.
    ///   - priority: what the task counts for, if there is one.
    package init(
        generation: Int, pin: Pin? = nil, present: ByteRanges? = nil, isCached: Bool = false,
        knowsDirect: Bool = false, priority: TransferPriority = .asked, limits: Limits = Limits()
    ) {
        self.generation = generation
        self.pin = pin
        self.present = present ?? ByteRanges()
        self.hasFile = present != nil
        self.isCached = isCached
        self.knowsDirect = knowsDirect
        self.priority = min(priority, .asked)
        self.limits = limits
    }

    /// The file's state for people.
    package var state: TaskState {
        if isCached { return .cached }
        if failure != nil { return .failed }
        if isSuspended || isFilling && !isFinishing && storageFull != nil { return .suspended }
        if !isFilling { return .remote }
        return isFinishing || connections.values.contains { $0.receiving } ? .running : .queued
    }

    /// Whether the task rests only because conditions do not allow automatic ones.
    package var isWaitingForConditions: Bool {
        isFilling && priority == .automatic && !allowsAutomatic && !isSuspended && !isCached && !isFinishing
            && failure == nil && storageFull == nil
    }

    /// Whether the task rests only because its file has no space yet.
    package var isWaitingForSpace: Bool {
        isFilling && awaitsSpace != nil && !isSuspended && !isCached && !isFinishing && failure == nil
            && storageFull == nil
    }

    /// Whether a connection was lost, and the next try has to wait.
    package var isRetrying: Bool { retryAt != nil && isFilling && connections.isEmpty }

    /// Whether bytes may be fetched that no reader is blocked on.
    var fillsInBackground: Bool {
        isFilling && !isSuspended && awaitsSpace == nil && (allowsAutomatic || priority > .automatic)
    }

    /// Why the task does not go on, or what went wrong last while it tries again, as people are told.
    package var error: TransferError? {
        if isCached { return nil }
        if isWaitingForSpace, state == .queued { return awaitsSpace }
        if let failure { return failure }
        guard isFilling || hasBlockedReaders, !isFinishing else { return nil }
        return storageFull ?? (isSuspended ? nil : recentError)
    }

    /// Whether anything is going on, waited for or to be remembered; an idle machine can be let go.
    package var isIdle: Bool {
        connections.isEmpty && opens.isEmpty && reads.isEmpty && handles == 0 && !isFinishing
            && failureForgotten == nil && awaitedAddress == nil
            && (!isFilling || isSuspended || failure != nil || isCached)
    }

    /// Whether a reader is blocked on a missing byte.
    package var hasBlockedReaders: Bool { !reads.isEmpty || !opens.isEmpty }

    /// The offset of the next byte of a connection.
    package func position(of id: ConnectionID) -> Int64? { connections[id]?.position }

    /// Whether what a connection brings may be stored now.
    package func isReceiving(_ id: ConnectionID) -> Bool {
        connections[id].map { $0.receiving && !$0.paused } ?? false
    }

    /// Whether a connection is known, and not ended or released.
    package func has(_ id: ConnectionID) -> Bool { connections[id] != nil }

    /// When `tick` must be called at the latest, if at all. After a `tick` it is later than that tick.
    package var deadline: Int64? {
        var result: Int64?
        func consider(_ moment: Int64) { result = min(result ?? moment, moment) }
        for connection in connections.values {
            if let held = connection.heldUntil { consider(held) }
            if !connection.receiving, let started = connection.started { consider(started + limits.stall) }
        }
        if let retryAt { consider(retryAt) }
        if let awaitedAddress { consider(awaitedAddress.since + limits.renewal) }
        if let failureForgotten { consider(failureForgotten) }
        for read in reads { consider(giveUpTime(since: read.since)) }
        for open in opens { consider(giveUpTime(since: open.since)) }
        return result
    }

    /// A wait ends when neither it nor the download has moved for the reader's deadline.
    func giveUpTime(since: Int64) -> Int64 { max(since, lastProgress) + limits.readerDeadline }
}
