package import TransferCore

/// Where a file comes from, and what is known of it from before.
package struct DownloadSource: Sendable {
    /// The owner's name for the file; one download exists for each key.
    package var key: MediaID
    package var url: String
    /// The rendition's number so far.
    package var generation: Int
    /// The size that a server has confirmed for this generation.
    package var confirmedSize: Int64?
    /// The cache file of this generation.
    package var file: String?
    /// What the file is to be: something else in its place is an error.
    package var expects: ContentExpectation
    /// Overrides the engine's own.
    package var userAgent: String?
    /// The space of the feed that named the address; see `ReachPolicy`. `nil` where a person gave it.
    package var reach: AddressSpace?
    /// Sent to the addresses that they fit, and to no others.
    package var credentials: Credentials?
    /// Bytes per second of this download, below the limit of all; `nil` or 0 does not limit.
    package var rateLimit: Int64?
    /// A download task exists already, and a person has suspended it.
    package var isSuspended: Bool
    /// What the task counts for.
    package var priority: TransferPriority
    /// Why the whole file has no space yet; see `TransferEngine.setAwaitsSpace`.
    package var awaitsSpace: TransferError?
    /// The owner knows that the cache file is whole. When it does not and the file is, it is told so once more.
    package var isComplete: Bool

    package init(
        key: MediaID, url: String, generation: Int, confirmedSize: Int64? = nil, file: String? = nil,
        expects: ContentExpectation = .media, userAgent: String? = nil, isSuspended: Bool = false,
        priority: TransferPriority = .asked, rateLimit: Int64? = nil, isComplete: Bool = false
    ) {
        self.key = key
        self.url = url
        self.generation = generation
        self.confirmedSize = confirmedSize
        self.file = file
        self.expects = expects
        self.userAgent = userAgent
        self.rateLimit = rateLimit
        self.isSuspended = isSuspended
        self.priority = priority
        self.isComplete = isComplete
    }
}

/// What a reader is told: the rendition, its file in the cache, and which bytes of it may be read.
package struct ReadGrant: Sendable {
    package var generation: Int
    /// The owner has given another one: an event on its way tells of this one.
    package var isNewGeneration: Bool
    /// Bytes; `nil` while unknown.
    package var total: Int64?
    /// The name of the cache file; `nil` while nothing has been stored.
    package var file: String?
    package var present: ByteRanges
    /// The first bytes where nothing is stored and the server has sent them along with the head.
    package var head: [UInt8] = []
}

/// A download at a moment, for people and programs.
package struct DownloadSnapshot: Sendable, Equatable {
    package var key: MediaID
    package var generation: Int
    package var state: TaskState
    package var received: Int64
    package var total: Int64?
    /// Bytes per second over the last seconds; `nil` while nothing runs.
    package var rate: Double?
    package var error: TransferError?
    package var present: ByteRanges
    /// A download task exists: the whole file is wanted.
    package var isTask: Bool
    /// What the task counts for. A reader makes it one that was asked for.
    package var priority: TransferPriority
    /// The task is automatic, and rests until such tasks may run.
    package var isWaitingForConditions: Bool
    /// The whole file has no space yet: `error` says why.
    package var isWaitingForSpace: Bool
    /// The server has failed, and is asked again later.
    package var isRetrying: Bool

    package init(
        key: MediaID, generation: Int, state: TaskState, received: Int64, total: Int64?, rate: Double? = nil,
        error: TransferError? = nil, present: ByteRanges = ByteRanges(), isTask: Bool,
        priority: TransferPriority = .asked, isWaitingForConditions: Bool = false, isWaitingForSpace: Bool = false,
        isRetrying: Bool = false
    ) {
        self.key = key
        self.generation = generation
        self.state = state
        self.received = received
        self.total = total
        self.rate = rate
        self.error = error
        self.present = present
        self.isTask = isTask
        self.priority = priority
        self.isWaitingForConditions = isWaitingForConditions
        self.isWaitingForSpace = isWaitingForSpace
        self.isRetrying = isRetrying
    }
}

/// What the owner of the engine is told, in the order in which it happened.
package enum TransferEvent: Sendable {
    /// A server has said how large the file is; the first news of a generation.
    case confirmed(key: MediaID, generation: Int, Pin)
    /// The generation has a cache file now.
    case fileCreated(key: MediaID, generation: Int, file: String, Pin, finalURL: String?)
    /// A file takes no more bytes: another rendition has replaced it. Readers may have it open.
    case abandoned(key: MediaID, generation: Int, file: String)
    /// Sent when the state changes, and a few times a second while bytes come.
    case progress(DownloadSnapshot)
    case completed(key: MediaID, generation: Int, size: Int64, sha256: String)
    case failed(key: MediaID, TransferError)
    /// No space was left for bytes of this download. All that have to write rest, and go on when `setStorageFull(nil)` is
    /// called; it is not told again before.
    case storageFull(key: MediaID, TransferError)
    /// The address of this download was refused, and with `Limits.renewsAddress` it waits for a newer one: `renew` is the
    /// answer, in any case.
    case addressRefused(key: MediaID, TransferError)
    case upload(UploadEvent)
}

package struct TransferConfiguration: Sendable {
    package var limits = DownloadMachine.Limits()
    package var pools = ConnectionPools.Limits()
    package var userAgent: String
    /// Bytes per second of all downloads together; 0 does not limit. Data requests are not counted.
    package var rateLimit: Int64 = 0
    package var network = NetworkConfiguration()

    package init(userAgent: String) { self.userAgent = userAgent }
}

/// Where requests may go.
package struct NetworkConfiguration: Sendable {
    package var reach = ReachPolicy()
    /// `HOST:PORT:ADDRESS`, in place of what DNS answers (CURLOPT_RESOLVE(3)); asked for each request. For tests of names
    /// whose addresses change.
    package var resolved: @Sendable () -> [String] = { [] }

    package init() {}
}
