internal import Platform

extension DownloadMachine {
    /// The phase of the file, with the state that exists only in this phase. The phases that may follow are listed
    /// after the arrow.
    enum Phase: Sendable, Equatable {
        /// Bytes are or may be missing. Connections run while a reader or the download task needs them. With `retry`
        /// the next connection is delayed. → awaitingAddress, finishing, failed
        case fetching(retry: Retry? = nil)
        /// The owner (the user of the engine) has been looking for a newer address since `since`, after the given
        /// error. No connection runs, and readers wait. → fetching, failed
        case awaitingAddress(since: Instant, TransferError)
        /// Every byte is present; the driver (which performs the machine's actions) syncs and hashes the file. There is
        /// no connection, and no reader waits.
        /// → cached, fetching (bytes were lost, there was no space for them, or their hash is wrong), failed
        case finishing
        /// The file is complete and hashed; from now on it is only read.
        case cached
        /// The download has failed. No connection runs. Before `until`, readers are answered with the error. After it,
        /// or at any time if `until` is `nil`, the next reader starts a new attempt. → fetching
        case failed(TransferError, until: Instant?)
    }

    /// The delay after the loss of a connection.
    struct Retry: Sendable, Equatable {
        var at: Instant
        /// Whether the server requested the delay (Retry-After); if so, a new reader does not shorten it.
        var isServers: Bool
    }

    /// The rendition whose bytes are stored, and the known facts about its identity.
    struct Rendition: Sendable, Equatable {
        /// The number of the rendition, greater than that of all earlier ones.
        let generation: Int
        var pin: Pin?
        var present = ByteRanges()
        /// Whether the generation has a cache file.
        var hasFile = false
        /// Whether a response lacked the rendition's validator, so that the validator no longer proves anything.
        var distrusts = false
        /// Whether a response has shown that there is no strong validator.
        var lacksValidator = false
        /// Whether the present bytes come from another address than the next response. The ETags of different addresses
        /// are unrelated, so the response has to be compared with the present bytes first.
        var isForeign = false

        /// Whether a strong validator identifies responses of the rendition.
        var isProven: Bool { pin?.validator != nil && !distrusts && !isForeign }

        /// Whether every byte of it is present.
        var isWhole: Bool { pin?.total.map { present.covers(0..<$0) } ?? false }

        /// Returns whether every byte of `range` below the end of the file is present.
        func satisfies(_ range: Range<Int64>) -> Bool {
            guard let total = pin?.total else { return present.covers(range) }
            return range.lowerBound >= total || present.covers(range.lowerBound..<min(range.upperBound, total))
        }
    }

    /// Whether the whole file is wanted, and whether it may be fetched now.
    struct Filling: Sendable, Equatable {
        enum Goal: Sendable, Equatable {
            /// No task: bytes are fetched only for readers.
            case nothing
            /// A download task: the whole file is wanted.
            case whole
            /// A download task that a person or a client has suspended.
            case suspended
        }

        var goal = Goal.nothing
        /// The priority of the task, regardless of blocked readers.
        var priority: TransferPriority
        /// Whether automatic tasks may run, for example because the link is unmetered.
        var allowsAutomatic = true
        /// The error while there is no space for the whole file. While it is set, the file is not fetched in the
        /// background, but readers are served.
        var awaitsSpace: TransferError?

        /// Whether bytes may be fetched that no reader waits for.
        var runsInBackground: Bool {
            goal == .whole && awaitsSpace == nil && (allowsAutomatic || priority > .automatic)
        }

        /// Starts a task for the whole file; a suspended one stays suspended.
        mutating func start() { if goal == .nothing { goal = .whole } }
    }

    /// Facts about the addresses of the bytes. The feed's address may redirect; the *direct* address is the one from
    /// which the last response came.
    struct Address: Sendable, Equatable {
        /// Whether the direct address is known and may be requested, without the redirects.
        private(set) var knowsDirect: Bool
        /// Whether the direct address is avoided only because its host was unreachable.
        private(set) var isUnreachable = false
        /// The time at which the owner was last asked for a newer address.
        var lastRenewal: Instant?
        /// The number of sources: addresses in the owner's list. When one fails permanently, the next is requested.
        var count: Int
        /// The position of the source that is requested now.
        private(set) var current = 0
        /// The refusal of the first source, which is reported if all refuse.
        private(set) var firstRefusal: TransferError?

        init(knowsDirect: Bool, count: Int) {
            self.knowsDirect = knowsDirect
            self.count = count
        }

        /// Records that a request was lost before the head of its response arrived.
        ///
        /// If the direct address was requested, it may be gone for good, so the feed's address is requested next.
        /// If the host of the feed's address is unreachable too, the network is at fault: the direct address is used
        /// again, without another request to the redirecting servers, which may count plays.
        mutating func failed(direct: Bool, unreachable: Bool) {
            if direct {
                knowsDirect = false
                isUnreachable = unreachable
            } else if isUnreachable {
                if unreachable { knowsDirect = true }
                isUnreachable = false
            }
        }

        /// Sets whether the address of the last response is requested.
        mutating func setKnowsDirect(_ knows: Bool) {
            knowsDirect = knows
            isUnreachable = false
        }

        /// Whether another source follows the current one.
        var hasNextSource: Bool { current + 1 < count }

        /// Advances to the next source, and returns whether there is one.
        mutating func advance(after error: TransferError) -> Bool {
            firstRefusal = firstRefusal ?? error
            guard hasNextSource else { return false }
            current += 1
            return true
        }

        /// Returns to the first source.
        mutating func restart() {
            current = 0
            firstRefusal = nil
        }
    }
}
