package import Platform

/// The state machine of one file's download. It tracks the present bytes, the waiting readers and the connections.
///
/// Every event is a mutating method that returns the actions to perform. There is no IO, clock or random number here,
/// so each transition can be tested by comparing values. The driver performs the actions in order, on one thread, and
/// reports their results as further events. Times are instants of a monotonic clock.
///
/// The *owner* is the code that uses the transfer engine: it supplies the addresses of the file, and processes the
/// engine's events. A *rendition* is the content that a server sends for the file; the server may replace it by another
/// one at any time.
///
/// The life of a download:
/// - An *open* of a file that no response has confirmed yet sends a request and waits for the response head; the
///   response is then **held** (paused, unread) until a read arrives, for at most `Limits.maxHold`.
/// - The first *read* of a player starts a **filling** task, which fetches the whole file, gaps from front to back. A
///   read far from the filling connection opens at most one more connection, at its own offset. While a reader is
///   blocked, the connections that serve no reader are paused. A probe's reads fetch only the blocks that they need
///   (`ReaderKind`).
/// - When every byte is present the file is **finishing** (synced and hashed by the driver), then **cached**.
/// - A response with another rendition starts a new **generation**: its bytes are stored in a new cache file from
///   byte 0, and reads of the old generation fail with an error that says that the file has changed.
///
/// If the rendition has a strong validator, such as a strong ETag, the validator *proves* that a response has the same
/// rendition. Without one, a response is joined to the present bytes only if it overlaps them and the overlap is equal:
/// a continuation fetches the last `Limits.overlap` bytes again, and a read elsewhere opens no connection of its own,
/// but waits until the single connection reaches its offset.
package struct DownloadMachine: Sendable {
    /// The id of a connection, chosen by the machine.
    package typealias ConnectionID = Int
    /// The id of a waiting open or read, chosen by the driver.
    package typealias WaitID = Int64

    package let limits: Limits
    var rendition: Rendition
    var phase: Phase
    var filling: Filling
    /// The error while there is no space for any bytes; nothing is requested until `storageAvailable` is called.
    package internal(set) var storageFull: TransferError?
    var readers = Readers()
    var connections = Connections()
    var attempts = Attempts()
    var faults = ServerFaults()
    var address: Address

    /// - Parameters:
    ///   - generation: The number of the current rendition.
    ///   - pin: The known facts of the rendition: its confirmed size, its validator.
    ///   - present: The ranges in an existing cache file of this generation.
    ///   - isCached: Whether that file is complete, synced and hashed.
    ///   - knowsDirect: Whether the address to which the feed's address redirects is known from an earlier response.
    ///   - sources: The number of addresses that the owner has for the file; when one fails permanently, the next is
    ///     requested.
    ///   - priority: The priority of the task, if there is one.
    package init(
        generation: Int, pin: Pin? = nil, present: ByteRanges? = nil, isCached: Bool = false,
        knowsDirect: Bool = false, sources: Int = 1, priority: TransferPriority = .asked, limits: Limits = Limits()
    ) {
        rendition = Rendition(
            generation: generation, pin: pin, present: present ?? ByteRanges(), hasFile: present != nil)
        phase = isCached ? .cached : .fetching()
        filling = Filling(priority: min(priority, .asked))
        address = Address(knowsDirect: knowsDirect, count: max(1, sources))
        self.limits = limits
    }

    // MARK: Observable state

    package var generation: Int { rendition.generation }
    package var pin: Pin? { rendition.pin }
    package var present: ByteRanges { rendition.present }
    /// Whether the generation has a cache file.
    package var hasFile: Bool { rendition.hasFile }
    /// Whether a download task exists, so that the whole file is wanted.
    package var isFilling: Bool { filling.goal != .nothing }
    /// Whether a person or a client has suspended the task.
    package var isSuspended: Bool { filling.goal == .suspended }
    package var priority: TransferPriority { filling.priority }
    /// The reason why there is no space for the whole file yet; `nil` if there is space.
    package var awaitsSpace: TransferError? { filling.awaitsSpace }
    /// The number of opens without a close.
    package var handles: Int { readers.handles }
    package var isCached: Bool { phase == .cached }
    package var isFinishing: Bool { phase == .finishing }
    package var failure: TransferError? { if case .failed(let error, _) = phase { error } else { nil } }

    /// The retry that is scheduled after a failed connection; `nil` if there is none.
    var scheduledRetry: Retry? { if case .fetching(let retry) = phase { retry } else { nil } }

    /// The state as shown to people.
    package var state: TaskState {
        if isCached { return .cached }
        if failure != nil { return .failed }
        if isSuspended || isFilling && !isFinishing && storageFull != nil { return .suspended }
        if !isFilling { return .remote }
        return isFinishing || connections.areReceiving ? .running : .queued
    }

    /// Whether the task waits because automatic tasks may not run.
    package var isWaitingForConditions: Bool {
        filling.goal == .whole && priority == .automatic && !filling.allowsAutomatic && isFetching && storageFull == nil
    }

    /// Whether the task waits because its file has no space yet.
    package var isWaitingForSpace: Bool {
        filling.goal == .whole && awaitsSpace != nil && isFetching && storageFull == nil
    }

    /// Whether the task has no connection and waits for a scheduled retry.
    package var isRetrying: Bool { scheduledRetry != nil && isFilling && connections.isEmpty }

    /// The time of the next attempt after a failed connection; `nil` if none is scheduled, if another connection runs,
    /// or if nobody wants the bytes now.
    package var nextTry: Instant? { connections.isEmpty && isWanted && !isSuspended ? scheduledRetry?.at : nil }

    /// The reason why the task does not proceed, or the last error while it is retried, as shown to people.
    package var error: TransferError? {
        if isCached { return nil }
        if isWaitingForSpace, state == .queued { return awaitsSpace }
        if let failure { return failure }
        guard isFilling || hasBlockedReaders, !isFinishing else { return nil }
        return storageFull ?? (isSuspended ? nil : attempts.lastError)
    }

    /// Whether bytes may still be missing, and the download is not in the phase `failed`.
    var isFetching: Bool {
        switch phase {
        case .fetching, .awaitingAddress: true
        case .finishing, .cached, .failed: false
        }
    }

    /// Whether nothing needs the machine: no handle, connection or unsuspended task, no result that is awaited, and no
    /// failure that has to be remembered. An idle machine can be released.
    package var isIdle: Bool {
        guard connections.isEmpty, readers.isEmpty else { return false }
        return switch phase {
        case .fetching: filling.goal != .whole
        case .awaitingAddress, .finishing: false
        case .cached: true
        case .failed(_, let until): until == nil
        }
    }

    /// Whether an open or a read waits for an answer.
    package var hasBlockedReaders: Bool { !readers.waits.isEmpty }

    /// Whether there is a task, even a suspended one, or a reader waits.
    var isWanted: Bool { isFilling || hasBlockedReaders }

    /// Returns the offset of the next byte of a connection.
    package func position(of id: ConnectionID) -> Int64? { connections[id]?.position }

    /// Returns whether the bytes of a connection may be stored now.
    package func isFlowing(_ id: ConnectionID) -> Bool { connections[id]?.body?.flow == .running }

    /// Returns whether a connection exists and was not ended or released.
    package func has(_ id: ConnectionID) -> Bool { connections[id] != nil }

    /// The latest time for the next call of `tick`, if any. After a `tick` it is later than that tick.
    package var deadline: Instant? {
        var result: Instant?
        func consider(_ moment: Instant) { result = min(result ?? moment, moment) }
        for connection in connections.all {
            if case .held(let until)? = connection.body?.flow { consider(until) }
            if let silent = connection.silentSince { consider(silent + limits.stall) }
        }
        switch phase {
        case .fetching(let retry): if let retry { consider(retry.at) }
        case .awaitingAddress(let since, _): consider(since + limits.renewal)
        case .failed(_, let until): if let until { consider(until) }
        case .finishing, .cached: break
        }
        for wait in readers.waits { consider(giveUpTime(since: wait.since)) }
        return result
    }

    /// Returns the time at which a wait that began at `since` fails, unless the download progresses before.
    func giveUpTime(since: Instant) -> Instant { max(since, attempts.lastProgress ?? since) + limits.readerDeadline }
}

extension DownloadMachine {
    /// Limits at which the machine gives up, waits, or opens another connection.
    package struct Limits: Sendable, Equatable {
        /// The time after which a connection counts as stalled if neither a head nor bytes arrive.
        package var stall = Duration.seconds(20)
        /// The silence after which a connection is replaced when the network has changed: longer than a round trip,
        /// shorter than a gap that a listener notices.
        package var doubt = Duration.seconds(1)
        /// The longest delay between attempts during an outage while a reader is blocked.
        package var reachRetry = Duration.seconds(2)
        /// The connect timeout during an outage while a reader is blocked. No event reports that a line has stopped
        /// dropping packets, so SYNs have to be frequent: at first Linux sends one each second, then it doubles the
        /// interval (`tcp_syn_linear_timeouts`, 4). With a new attempt after these 5 s, the interval between SYNs never
        /// exceeds 3 s.
        package var outageConnect = Duration.seconds(5)
        /// The time after which an open or a read fails if the download makes no progress.
        package var readerDeadline = Duration.seconds(60)
        /// The minimum rate that counts as progress, in new bytes a second over `readerDeadline`: nobody can listen to
        /// a podcast at less than 2 kbit/s.
        package var minRate: Int64 = 256
        /// The maximum time for which the response to an open is held (paused, unread) for a first read.
        package var maxHold = Duration.seconds(10)
        /// The time for which readers get the error of a permanent failure without a new attempt. Also the minimum time
        /// between two requests for a newer address (`renewsAddress`).
        package var failureMemory = Duration.seconds(60)
        /// The maximum distance in bytes at which a reader waits for an existing connection rather than opening
        /// another: the cost of a request at common rates (two round trips of 50 ms at 5 MB/s).
        package var reach: Int64 = 512 * 1024
        /// The maximum number of unneeded bytes that the server of a paused connection may still have to send. With
        /// more, the connection is ended: the bytes would fill the socket buffers, whereas a later request costs only
        /// one round trip.
        package var excess: Int64 = 1 << 20
        /// The number of bytes that are fetched again and compared if no strong validator proves that the rendition is
        /// the same.
        package var overlap: Int64 = 64 * 1024
        /// The maximum number of connections: one that fills the file, and one that serves a reader elsewhere in it.
        package var connections = 2
        /// Maximum number of consecutive new renditions without a complete file. A server that contradicts itself that
        /// often (a length that differs from the body's, another tag with every response) would otherwise be asked for
        /// the same bytes forever.
        package var renewals = 4
        /// Number of consecutive bodies that end at the same byte, before their announced end, after which the source
        /// is given up.
        package var sameEnds = 3
        /// The size in bytes of the blocks that are fetched for the reads of a probe, a program that reads only headers
        /// and tags.
        package var probeBlock: Int64 = 64 * 1024
        /// The number of bytes from the start of the file that probes may read if no range can be requested.
        package var probeStream: Int64 = 1 << 20
        /// The expected content; anything else is an error.
        package var expects = ContentExpectation.media
        /// The size in bytes that the feed states; `nil` if it states none, or an implausible one.
        package var statedSize: Int64?
        /// Whether the machine asks its owner (the user of the engine) for a newer address after a server has refused
        /// the request. If so, the owner must answer.
        package var renewsAddress = false
        /// The time limit for the owner's answer: ten minutes to fetch a feed, and one more to store it.
        package var renewal = Duration.seconds(660)
        package var retry = RetryPolicy()

        package init() {}
    }
}
