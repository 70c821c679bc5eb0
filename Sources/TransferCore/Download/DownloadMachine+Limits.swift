extension DownloadMachine {
    /// Limits at which the machine gives up, waits, or opens another connection.
    package struct Limits: Sendable, Equatable {
        /// The time in milliseconds after which a connection without a head counts as stalled.
        package var stall: Int64 = 20_000
        /// The time after which a read without any progress of the download fails.
        package var readerDeadline: Int64 = 60_000
        /// The minimum rate that counts as progress, in new bytes a second over the reader's deadline: less than a
        /// modem of 1980 is useless to any listener.
        package var leastRate: Int64 = 256
        /// The maximum time for which a response is held for a first read.
        package var hold: Int64 = 10_000
        /// The time for which a permanent failure is remembered.
        package var failureMemory: Int64 = 60_000
        /// The maximum distance in bytes at which a reader waits for an existing connection rather than opening
        /// another: the cost of a request at common rates (two round trips of 50 ms at 5 MB/s).
        package var reach: Int64 = 512 * 1024
        /// The maximum number of bytes that a paused connection's server may send in excess; with more the connection
        /// is ended: sockets buffer some megabytes for nothing, while a later request costs a round trip.
        package var excess: Int64 = 1 << 20
        /// The number of bytes read again if no strong validator proves that the rendition is the same.
        package var overlap: Int64 = 64 * 1024
        /// The maximum number of connections: one for filling, and one that serves a reader elsewhere.
        package var connections = 2
        /// Maximum number of consecutive new renditions of which none was completed. A server that contradicts itself
        /// so often (a length that differs from the body's, another tag with every answer) would be asked for the same
        /// bytes for ever.
        package var renewals = 4
        /// Number of consecutive bodies that end at the same byte, before their announced end, after which that is
        /// taken as the end of the file.
        package var sameEnds = 3
        package var expects = ContentExpectation.media
        /// Whether the owner is asked for a newer address after a refusal. It must answer.
        package var renewsAddress = false
        /// The time for that answer: ten minutes to fetch a feed, and one more to store it.
        package var renewal: Int64 = 660_000
        package var retry = RetryPolicy()

        package init() {}
    }
}
