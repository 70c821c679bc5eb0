internal import Glibc

/// The addresses of a file, and the facts known from earlier runs.
package struct DownloadSource: Sendable {
    /// One address of the file.
    package struct Location: Sendable, Equatable {
        package var url: String
        /// The hash that the complete file from here must have; `nil` if none is known.
        package var hash: FileHash?

        package init(url: String, hash: FileHash? = nil) {
            self.url = url
            self.hash = hash
        }
    }

    /// The owner's key of the file; there is one download for each key.
    package var key: MediaID
    /// The file's locations, in the order in which they are tried. When one fails permanently, the next is tried. Never
    /// empty.
    package private(set) var locations: [Location]
    /// The number of the current rendition, which is one version of the file's content.
    package var generation: Int
    /// The size of this generation confirmed by a server; `nil` while unknown.
    package var confirmedSize: Int64?
    /// The size that the feed states; `nil` if it states none, or an implausible one. A body without any other mark of
    /// its end is requested again if it ends far before.
    package var statedSize: Int64?
    /// The name of this generation's cache file; `nil` if there is none.
    package var file: String?
    /// The expected content; anything else is an error.
    package var expects = ContentExpectation.media
    /// The User-Agent, overriding the engine's.
    package var userAgent: String?
    /// The address space (internet, local network or this computer) of the feed that contains the addresses. None of
    /// them may be in a more private one; see `ReachPolicy`. `nil` if a person entered the addresses.
    package var reach: AddressSpace?
    /// Credentials, sent only to URLs of their origin.
    package var credentials: Credentials?
    /// The rate limit of this download in bytes per second, in addition to the limit for all downloads; `nil` or 0 for
    /// none.
    package var rateLimit: Int64?
    /// Whether a task exists that a person or a client has suspended.
    package var isSuspended = false
    /// The priority of the task.
    package var priority = TransferPriority.asked
    /// The reason why there is no space for the whole file yet; `nil` if there is space. See
    /// `TransferEngine.setAwaitsSpace`.
    package var awaitsSpace: TransferError?
    /// Whether the owner knows that the cache file is complete. If it does not, and the file is complete, the engine
    /// sends `TransferEvent.completed` again.
    package var isComplete = false

    package init(key: MediaID, url: String, generation: Int) {
        self.key = key
        locations = [Location(url: url)]
        self.generation = generation
    }

    /// The first address.
    package var url: String { locations[0].url }

    /// Replaces the locations, unless there are none.
    package mutating func setLocations(_ locations: [Location]) {
        if !locations.isEmpty { self.locations = locations }
    }

    /// Returns the location at a position; the first location if the position is out of range.
    func location(_ position: Int) -> Location {
        locations.indices.contains(position) ? locations[position] : locations[0]
    }
}

/// The answer to a reader: the rendition, its cache file, and the ranges that may be read.
package struct ReadGrant: Sendable {
    package var generation: Int
    /// Whether the generation differs from that of the `DownloadSource`, so that the owner may not have processed the
    /// event about it yet.
    package var isNewGeneration: Bool
    /// The size in bytes; `nil` while unknown.
    package var total: Int64?
    /// The name of the cache file; `nil` if nothing has been stored.
    package var file: String?
    package var present: ByteRanges
    /// The first bytes of the file, if they have arrived with the response head and are not stored yet.
    package var head: [UInt8] = []
}

/// The events sent to the engine's owner, in order.
package enum TransferEvent: Sendable {
    /// A server has described the rendition, with its size if it stated one. The first event of a generation, sent
    /// again when the size becomes known.
    case confirmed(key: MediaID, generation: Int, Pin)
    /// The generation has a cache file.
    case fileCreated(key: MediaID, generation: Int, file: String, Pin, finalURL: String?)
    /// The download no longer writes to this cache file, because another rendition has replaced it, or because it could
    /// not be trusted when the download was loaded. Readers may still have the file open.
    case abandoned(key: MediaID, generation: Int, file: String)
    /// Sent when the state changes, and a few times a second while bytes arrive.
    case progress(DownloadSnapshot)
    case completed(key: MediaID, generation: Int, FileFacts)
    case failed(key: MediaID, TransferError)
    /// No space was left for bytes of this download. Until `setStorageFull(nil)` all writing downloads are suspended,
    /// and the event is not repeated.
    case storageFull(key: MediaID, TransferError)
    /// Every address of this download has failed. The first failed because the server refused the request, or did not
    /// have the file. The download waits for a newer address, and the owner must answer with `renew`. Sent only if
    /// `Limits.renewsAddress` is set.
    case addressRefused(key: MediaID, TransferError)
    case upload(UploadEvent)
}

/// The facts of a complete file.
package struct FileFacts: Sendable, Equatable {
    /// The size in bytes.
    package var size: Int64
    package var sha256: String
    /// Whether the file matches a hash that one of its locations lists.
    package var isVerified: Bool = false
}

/// Configuration of a `TransferEngine`.
package struct TransferConfiguration: Sendable {
    package var limits = DownloadMachine.Limits()
    package var pools = ConnectionPools.Limits()
    package var userAgent: String
    /// The rate limit of all downloads together in bytes per second; 0 for none. Data requests are not counted.
    package var rateLimit: Int64 = 0
    package var network = NetworkConfiguration()

    package init(userAgent: String) { self.userAgent = userAgent }
}

/// The hosts that requests may be sent to, and how they are found and verified.
package struct NetworkConfiguration: Sendable {
    package var reach = ReachPolicy()
    /// The certificate authorities of https servers.
    package var authorities = Authorities.inUse
    /// The proxies that libcurl uses.
    package var proxies = ProxySettings { name in getenv(name).map { String(cString: $0) } }
    /// Replacements of DNS results, `HOST:PORT:ADDRESS` (CURLOPT_RESOLVE(3)); evaluated for each request. For tests of
    /// names whose addresses change.
    package var resolved: @Sendable () -> [String] = { [] }

    package init() {}
}
