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

    package let limits: Limits
    var rendition: Rendition
    var phase: Phase
    var filling: Filling
    /// There is no space for more bytes: nothing is asked for until there is.
    package internal(set) var storageFull: TransferError?
    var readers = Readers()
    var connections = Connections()
    var attempts = Attempts()
    var faults = ServerFaults()
    var address: Address

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
        rendition = Rendition(
            generation: generation, pin: pin, present: present ?? ByteRanges(), hasFile: present != nil)
        phase = isCached ? .cached : .fetching()
        filling = Filling(priority: min(priority, .asked))
        address = Address(knowsDirect: knowsDirect)
        self.limits = limits
    }

    // MARK: What is seen from outside

    package var generation: Int { rendition.generation }
    package var pin: Pin? { rendition.pin }
    package var present: ByteRanges { rendition.present }
    /// Whether the generation has a cache file.
    package var hasFile: Bool { rendition.hasFile }
    /// A download task exists: the whole file is wanted.
    package var isFilling: Bool { filling.wish != .nothing }
    /// A person has suspended the task.
    package var isSuspended: Bool { filling.wish == .suspended }
    package var priority: TransferPriority { filling.priority }
    /// The whole file has no space yet.
    package var awaitsSpace: TransferError? { filling.awaitsSpace }
    /// Open files.
    package var handles: Int { readers.handles }
    package var isCached: Bool { phase == .cached }
    package var isFinishing: Bool { phase == .finishing }
    package var failure: TransferError? { if case .failed(let error, _) = phase { error } else { nil } }

    /// The pause under way after a connection was lost.
    var retry: Retry? { if case .fetching(let retry) = phase { retry } else { nil } }

    /// The file's state for people.
    package var state: TaskState {
        if isCached { return .cached }
        if failure != nil { return .failed }
        if isSuspended || isFilling && !isFinishing && storageFull != nil { return .suspended }
        if !isFilling { return .remote }
        return isFinishing || connections.areReceiving ? .running : .queued
    }

    /// Whether the task rests only because conditions do not allow automatic ones.
    package var isWaitingForConditions: Bool {
        filling.wish == .whole && priority == .automatic && !filling.allowsAutomatic && isFetching && storageFull == nil
    }

    /// Whether the task rests only because its file has no space yet.
    package var isWaitingForSpace: Bool {
        filling.wish == .whole && awaitsSpace != nil && isFetching && storageFull == nil
    }

    /// Whether a connection was lost, and the next try has to wait.
    package var isRetrying: Bool { retry != nil && isFilling && connections.isEmpty }

    /// Why the task does not go on, or what went wrong last while it tries again, as people are told.
    package var error: TransferError? {
        if isCached { return nil }
        if isWaitingForSpace, state == .queued { return awaitsSpace }
        if let failure { return failure }
        guard isFilling || hasBlockedReaders, !isFinishing else { return nil }
        return storageFull ?? (isSuspended ? nil : attempts.recentError)
    }

    /// Whether bytes may still be missing, and nothing has failed for good.
    var isFetching: Bool {
        switch phase {
        case .fetching, .awaitingAddress: true
        case .finishing, .cached, .failed: false
        }
    }

    /// Whether anything is going on, waited for or to be remembered; an idle machine can be let go.
    package var isIdle: Bool {
        guard connections.isEmpty, readers.isEmpty else { return false }
        return switch phase {
        case .fetching: filling.wish != .whole
        case .awaitingAddress, .finishing: false
        case .cached: true
        case .failed(_, let until): until == nil
        }
    }

    /// Whether a reader is blocked on a missing byte.
    package var hasBlockedReaders: Bool { readers.areBlocked }

    /// Whether anybody wants bytes.
    var isWanted: Bool { isFilling || hasBlockedReaders }

    /// The offset of the next byte of a connection.
    package func position(of id: ConnectionID) -> Int64? { connections[id]?.position }

    /// Whether what a connection brings may be stored now.
    package func isReceiving(_ id: ConnectionID) -> Bool {
        connections[id]?.body?.flow == .running
    }

    /// Whether a connection is known, and not ended or released.
    package func has(_ id: ConnectionID) -> Bool { connections[id] != nil }

    /// When `tick` must be called at the latest, if at all. After a `tick` it is later than that tick.
    package var deadline: Int64? {
        var result: Int64?
        func consider(_ moment: Int64) { result = min(result ?? moment, moment) }
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
        for since in readers.waits { consider(giveUpTime(since: since)) }
        return result
    }

    /// A wait ends when neither it nor the download has moved for the reader's deadline.
    func giveUpTime(since: Int64) -> Int64 { max(since, attempts.lastProgress ?? since) + limits.readerDeadline }
}
