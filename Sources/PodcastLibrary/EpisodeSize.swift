/// Where the size of an episode's file comes from.
package enum SizeSource: String, Sendable, Equatable {
    /// A server said so.
    case server = "server"
    /// The feed's claim, which is plausible.
    case feed = "feed"
    /// From the duration and a usual bit rate.
    case estimate = "estimate"
    /// Nothing is known: the size is 0.
    case unknown = "unknown"
}

/// The size of an episode's file before and after a server told it. Pure.
///
/// A file must have a size long before anybody asks for its content: players and `ls` take 0 for an empty file. Feeds
/// are often wrong about it: they say 0, 1, the seconds of the duration, or the length of another encoding.
package struct EpisodeSize: Sendable, Equatable {
    package let bytes: Int64
    package let source: SizeSource

    /// A shorter file is no episode: 10 kB is less than a second of music, or ten seconds of the most frugal speech.
    /// Below it stand the placeholders (0, 1, 1024) and durations written in the wrong attribute.
    static let leastLength: Int64 = 10_000
    /// 16 TiB, the largest file of ext4: a greater claim is a mistake, whoever makes it.
    package static let greatest: Int64 = 1 << 44
    /// Bytes a second: 8 kbit/s, under what any speech codec in use makes of a podcast (Opus begins at 6, MP3 at 8).
    static let leastRate = 1_000.0
    /// Bytes a second: 80 Mbit/s, above 4K video as published, and far above uncompressed audio (0.2 to 1.2 MB/s). A
    /// length beyond it was counted in bits, or is a number of something else.
    static let greatestRate = 10_000_000.0
    /// Bytes a second for an estimate: 128 kbit/s, the most usual rate of podcasts in MP3 and AAC.
    static let audioRate = 16_000.0
    /// Bytes a second for an estimate: 1 Mbit/s, a talk in 720p.
    static let videoRate = 125_000.0
    /// A duration above this is not believed (100 days): estimates stay far from overflow.
    static let greatestDuration = 8_640_000.0

    package init(bytes: Int64, source: SizeSource) {
        self.bytes = bytes
        self.source = source
    }

    /// - Parameters:
    ///   - confirmed: what a server said.
    ///   - length: the feed's claim in bytes.
    ///   - duration: in seconds.
    ///   - isVideo: `MediaType.isVideo`; asked only for an estimate, since listings make thousands of sizes.
    package init(confirmed: Int64?, length: Int64?, duration: Double?, isVideo: @autoclosure () -> Bool) {
        let seconds = duration.flatMap { $0 > 0 && $0 <= Self.greatestDuration ? $0 : nil }
        if let confirmed, (0...Self.greatest).contains(confirmed) {
            bytes = confirmed
            source = .server
        } else if let length, Self.isPlausible(length, seconds: seconds) {
            bytes = length
            source = .feed
        } else if let seconds {
            bytes = Int64(seconds * (isVideo() ? Self.videoRate : Self.audioRate))
            source = .estimate
        } else {
            bytes = 0
            source = .unknown
        }
    }

    private static func isPlausible(_ length: Int64, seconds: Double?) -> Bool {
        guard (leastLength...greatest).contains(length) else { return false }
        guard let seconds else { return true }
        let rate = Double(length) / seconds
        return rate >= leastRate && rate <= greatestRate
    }
}
