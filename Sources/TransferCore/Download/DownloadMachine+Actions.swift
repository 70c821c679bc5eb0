// What the machine asks of its driver, and hears from it.
extension DownloadMachine {
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
}
