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
        address = Address(knowsDirect: knowsDirect)
        address.sources.count = max(1, sources)
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
        return storageFull ?? (isSuspended ? nil : attempts.recentError)
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
    package var hasBlockedReaders: Bool { readers.areBlocked }

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
        for since in readers.waitStarts { consider(giveUpTime(since: since)) }
        return result
    }

    /// Returns the time at which a wait that began at `since` fails, unless the download progresses before.
    func giveUpTime(since: Instant) -> Instant { max(since, attempts.lastProgress ?? since) + limits.readerDeadline }
}
