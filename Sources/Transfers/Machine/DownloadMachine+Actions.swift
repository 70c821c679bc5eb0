// The machine's actions, and the types of its events.
extension DownloadMachine {
    /// A request to send.
    package struct ConnectRequest: Sendable, Equatable {
        /// The first requested byte.
        package var offset: Int64
        /// The byte after the last requested one; `nil` requests everything to the end.
        package var end: Int64?
        /// Whether to send a Range field.
        package var ranged: Bool
        /// The validator for the If-Range field; `nil` sends none.
        package var ifRange: Validator?
        /// Whether to request the address of the last response instead of a source's.
        package var direct: Bool
        /// Whether a reader waits for the connection, which then belongs to the readers' pool.
        package var forReader: Bool
        /// The position of the requested address among the file's sources; unused if `direct` is set.
        package var source = 0
        /// Whether only probes (reads of programs that examine nothing but tags) wait for the connection, which then
        /// belongs to the probes' pool.
        package var isProbe = false
    }

    /// An action for the driver to perform.
    package enum Action: Sendable, Equatable {
        case connect(ConnectionID, ConnectRequest)
        /// Ends a connection; no further event of it is reported.
        case abort(ConnectionID)
        /// Releases a connection that has delivered its last byte: its exchange completes by itself, so that curl can
        /// reuse the TCP connection. No further event of it is reported.
        case release(ConnectionID)
        /// Pauses a connection briefly, because no reader waits for its bytes. The connection keeps its slot, its place
        /// among the limited number of connections in its pool.
        case pause(ConnectionID)
        /// Pauses a connection until its bytes are needed. The connection stays open, but frees its slot.
        case hold(ConnectionID)
        /// Resumes a connection after `pause` or `hold`. After `hold`, the connection needs a slot again.
        case resume(ConnectionID, forReader: Bool)
        /// Changes whether a blocked reader waits for the connection; initially that is `forReader` of the request.
        case serving(ConnectionID, Bool)
        /// Reports a new rendition, or the size of a rendition once a server has confirmed it. A rendition is the bytes
        /// that a server sends for the file; if these change, the next rendition begins.
        case confirmed(generation: Int, Pin)
        /// Creates the cache file of this generation, since bytes are about to arrive.
        case createFile(generation: Int, Pin)
        /// Stops writing to the old generation's file.
        case abandonFile(generation: Int)
        case answerOpen(WaitID, TransferError?)
        case answerRead(WaitID, TransferError?)
        /// Syncs and hashes the file, and marks it as complete, since every byte is present.
        case finish(generation: Int)
        case failed(TransferError)
        /// Reports that bytes could not be stored for lack of space. The download stops until `storageAvailable`.
        case storageFull(TransferError)
        /// Asks the owner for a newer address after a refusal; the owner answers with `addressRenewed`.
        case renewAddress(TransferError)
        /// Sets the priority of all connections, because the task's priority has changed.
        case prioritized(TransferPriority)
    }

    /// The way in which the driver must process the next bytes of a connection.
    package enum Step: Sendable, Equatable {
        /// The bytes are missing: write them, up to this offset if there is one.
        case write(until: Int64?)
        /// The bytes are already present: compare them with the file.
        case compare(until: Int64)
        /// The bytes are already present and known to be of the same rendition: skip them.
        case skip(until: Int64)
        /// The connection has delivered its last byte: end it.
        case stop
    }

    /// The reason for the end of a connection that the machine did not end.
    package enum Ending: Sendable, Equatable {
        /// The body is complete according to the protocol.
        case complete
        /// `Step.stop` was reached, or the driver ended the connection to free its slot.
        case stopped
        /// A transient failure; if it occurred during a body, the body ended early.
        case failure(TransferError)
        /// A permanent failure.
        case refusal(TransferError)
    }
}
