extension DownloadMachine {
    /// Limits at which the machine gives up, waits, or opens another connection.
    package struct Limits: Sendable, Equatable {
        /// The time after which a connection counts as stalled if neither a head nor bytes arrive.
        package var stall = Duration.seconds(20)
        /// The silence after which a connection is replaced when the network has changed: longer than a round trip,
        /// shorter than a gap that a listener notices.
        package var doubt = Duration.seconds(1)
        /// The longest delay between attempts during an outage while a reader is blocked.
        package var reachRetry = Duration.seconds(2)
        /// The connect timeout during an outage while a reader is blocked. No event reports that a line has stopped
        /// dropping packets, so SYNs have to be frequent: at first Linux sends one each second, then it doubles the
        /// interval (`tcp_syn_linear_timeouts`, 4). With a new attempt after these 5 s, the interval between SYNs never
        /// exceeds 3 s.
        package var outageConnect = Duration.seconds(5)
        /// The time after which an open or a read fails if the download makes no progress.
        package var readerDeadline = Duration.seconds(60)
        /// The minimum rate that counts as progress, in new bytes a second over `readerDeadline`: nobody can listen to
        /// a podcast at less than 2 kbit/s.
        package var minRate: Int64 = 256
        /// The maximum time for which the response to an open is held (paused, unread) for a first read.
        package var maxHold = Duration.seconds(10)
        /// The time for which readers get the error of a permanent failure without a new attempt. Also the minimum time
        /// between two requests for a newer address (`renewsAddress`).
        package var failureMemory = Duration.seconds(60)
        /// The maximum distance in bytes at which a reader waits for an existing connection rather than opening
        /// another: the cost of a request at common rates (two round trips of 50 ms at 5 MB/s).
        package var reach: Int64 = 512 * 1024
        /// The maximum number of unneeded bytes that the server of a paused connection may still have to send. With
        /// more, the connection is ended: the bytes would fill the socket buffers, whereas a later request costs only
        /// one round trip.
        package var excess: Int64 = 1 << 20
        /// The number of bytes that are fetched again and compared if no strong validator proves that the rendition is
        /// the same.
        package var overlap: Int64 = 64 * 1024
        /// The maximum number of connections: one that fills the file, and one that serves a reader elsewhere in it.
        package var connections = 2
        /// Maximum number of consecutive new renditions without a complete file. A server that contradicts itself that
        /// often (a length that differs from the body's, another tag with every response) would otherwise be asked for
        /// the same bytes forever.
        package var renewals = 4
        /// Number of consecutive bodies that end at the same byte, before their announced end, after which the source
        /// is given up.
        package var sameEnds = 3
        /// The size in bytes of the blocks that are fetched for the reads of a probe, a program that reads only headers
        /// and tags.
        package var probeBlock: Int64 = 64 * 1024
        /// The number of bytes from the start of the file that probes may read if no range can be requested.
        package var probeStream: Int64 = 1 << 20
        /// The expected content; anything else is an error.
        package var expects = ContentExpectation.media
        /// The size in bytes that the feed states; `nil` if it states none, or an implausible one.
        package var statedSize: Int64?
        /// Whether the machine asks its owner (the user of the engine) for a newer address after a server has refused
        /// the request. If so, the owner must answer.
        package var renewsAddress = false
        /// The time limit for the owner's answer: ten minutes to fetch a feed, and one more to store it.
        package var renewal = Duration.seconds(660)
        package var retry = RetryPolicy()

        package init() {}
    }
}
