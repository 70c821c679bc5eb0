extension DownloadMachine {
    /// When the machine gives up, waits or begins another connection.
    package struct Limits: Sendable, Equatable {
        /// A connection that sends no head for so long, or no byte of its body, has stalled, in milliseconds.
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
}
