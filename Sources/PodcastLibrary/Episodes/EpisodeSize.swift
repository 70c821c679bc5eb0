/// The source of the size of an episode's file.
package enum SizeSource: String, Sendable, Equatable {
    /// Confirmed by a server.
    case server = "server"
    /// A plausible value from the feed.
    case feed = "feed"
    /// Computed from the duration and a usual bit rate.
    case estimate = "estimate"
    /// Unknown: the size is 0.
    case unknown = "unknown"
}

/// The size of an episode's file before and after a server has confirmed it.
///
/// A file needs a size long before its content is requested, because players and `ls` treat 0 as an empty file. Feeds
/// often give wrong sizes: 0, 1, the seconds of the duration, or the length of another encoding.
package struct EpisodeSize: Sendable, Equatable {
    package let bytes: Int64
    package let source: SizeSource

    /// The minimum plausible length: 10 kB is less than a second of music, or ten seconds of the lowest speech bit
    /// rate. Smaller values are placeholders (0, 1, 1024) or durations in the wrong attribute.
    static let minLength: Int64 = 10_000
    /// The maximum size: 16 TiB, the size of the largest file on ext4. A larger value is a mistake.
    package static let greatest: Int64 = 1 << 44
    /// The minimum plausible rate in bytes per second: 8 kbit/s, the lowest rate of MP3. Opus can encode speech at 6
    /// kbit/s, but podcasts do not use that.
    static let minRate = 1_000.0
    /// The maximum plausible rate in bytes per second: 80 Mbit/s, above published 4K video and far above uncompressed
    /// audio (0.2 to 1.2 MB/s). A greater value was counted in bits, or is not a length.
    static let maxRate = 10_000_000.0
    /// The assumed audio rate in bytes per second: 128 kbit/s, the most common rate of podcasts in MP3 and AAC.
    static let audioRate = 16_000.0
    /// The assumed video rate in bytes per second: 1 Mbit/s, a talk in 720p.
    static let videoRate = 125_000.0
    /// The maximum plausible duration in seconds (100 days), which keeps estimates far from overflow.
    static let maxDuration = 8_640_000.0

    package init(bytes: Int64, source: SizeSource) {
        self.bytes = bytes
        self.source = source
    }

    /// - Parameters:
    ///   - confirmed: The size confirmed by a server.
    ///   - length: The feed's value in bytes.
    ///   - duration: The duration in seconds.
    ///   - type: The MIME type; evaluated only for an estimate, since listings compute thousands of sizes.
    ///   - name: The file's name.
    package init(
        confirmed: Int64?, length: Int64?, duration: Double?, type: @autoclosure () -> String?, name: String
    ) {
        let seconds = duration.flatMap { $0 > 0 && $0 <= Self.maxDuration ? $0 : nil }
        if let confirmed, (0...Self.greatest).contains(confirmed) {
            bytes = confirmed
            source = .server
        } else if let length, Self.isPlausible(length, seconds: seconds) {
            bytes = length
            source = .feed
        } else if let seconds {
            let isVideo = MediaType.isVideo(type: type(), fileExtension: FileName.fileExtension(of: name))
            bytes = Int64(seconds * (isVideo ? Self.videoRate : Self.audioRate))
            source = .estimate
        } else {
            bytes = 0
            source = .unknown
        }
    }

    private static func isPlausible(_ length: Int64, seconds: Double?) -> Bool {
        guard (minLength...greatest).contains(length) else { return false }
        guard let seconds else { return true }
        let rate = Double(length) / seconds
        return rate >= minRate && rate <= maxRate
    }
}
