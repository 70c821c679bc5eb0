extension DownloadMachine {
    /// How far the file is. What belongs to one phase alone goes with it.
    enum Phase: Sendable, Equatable {
        /// Bytes are missing, or may be: connections run as readers and the task need them. With `retry` the next one waits.
        /// → any other
        case fetching(retry: Retry? = nil)
        /// The owner looks for a newer address, since that moment; the error is that of the one before. No connection runs,
        /// and readers wait. → fetching, failed
        case awaitingAddress(since: Int64, TransferError)
        /// Every byte is present; the driver syncs and hashes the file. No connection runs and no reader waits.
        /// → cached, fetching (bytes were lost, or there was no space for them), failed
        case finishing
        /// The file is whole, checked and hashed. Nothing is wanted of it any more but its bytes.
        case cached
        /// No connection runs. Readers are answered with the error until the moment at which it is remembered no more; then,
        /// or when there is none, the next one begins anew. → fetching
        case failed(TransferError, until: Int64?)
    }

    /// The pause after a connection was lost.
    struct Retry: Sendable, Equatable {
        var at: Int64
        /// The server asked for it: a new reader does not cut it short.
        var isServers: Bool
    }

    /// The rendition of which bytes are kept, and what is known of its identity.
    struct Rendition: Sendable, Equatable {
        /// A new rendition has a greater one.
        let generation: Int
        var pin: Pin?
        var present = ByteRanges()
        /// Whether the generation has a cache file.
        var hasFile = false
        /// An answer did not show the validator that the rendition has: it proves nothing any more.
        var distrusts = false
        /// An answer has shown that there is no strong validator.
        var lacksValidator = false
        /// What is here came from another address than the next answer will: tags of two addresses say nothing of each
        /// other, so bytes have to be compared before anything else is believed.
        var isForeign = false

        /// Whether a strong validator shows which answers belong to the rendition.
        var isProven: Bool { pin?.validator != nil && !distrusts && !isForeign }

        /// Whether every byte of it is present.
        var isWhole: Bool { pin?.total.map { present.covers(0..<$0) } ?? false }

        /// Whether every byte of `range` below the end of the file is present.
        func satisfies(_ range: Range<Int64>) -> Bool {
            guard let total = pin?.total else { return present.covers(range) }
            return range.lowerBound >= total || present.covers(range.lowerBound..<min(range.upperBound, total))
        }
    }

    /// What people and programs want of the whole file, and whether circumstances let it be fetched.
    struct Filling: Sendable, Equatable {
        enum Wish: Sendable, Equatable {
            /// No task: bytes come for readers alone.
            case nothing
            /// A download task: the whole file is wanted.
            case whole
            /// The same, and a person has suspended it.
            case suspended
        }

        var wish = Wish.nothing
        /// What the task counts for; while nobody reads.
        var priority: TransferPriority
        /// Automatic tasks may run: the link is unmetered, say.
        var allowsAutomatic = true
        /// The whole file has no space yet: it is not filled in the background, and readers are served.
        var awaitsSpace: TransferError?

        /// Whether bytes may be fetched that no reader is blocked on.
        var runsInBackground: Bool {
            wish == .whole && awaitsSpace == nil && (allowsAutomatic || priority > .automatic)
        }

        /// The whole file is wanted; a suspension stays.
        mutating func begin() { if wish == .nothing { wish = .whole } }
    }

    /// Where the bytes come from.
    struct Address: Sendable, Equatable {
        /// The address that the last answer came from may be asked directly.
        var knowsDirect: Bool
        /// When the owner was last asked for a newer one.
        var lastRenewal: Int64?
    }
}
