package import PodcastFeed

/// The setting `prefer`: the encoding that a show's new episodes should have when their items offer several.
package enum MediaPreference: Sendable, Equatable {
    /// A MIME type in lower case, such as `audio/opus`.
    case type(String)
    case major(MediaType.Major)
    /// The encoding with the highest bit rate up to this limit, in bits per second, among those with the main
    /// encoding's major type (audio or video).
    case atMost(Double)

    /// The allowed values, for messages.
    package static let forms = "a MIME type such as audio/opus, \"audio\", \"video\", or a bit rate such as \"<=96k\""

    /// Parses a value of the setting; `nil` if it is invalid.
    package init?(_ text: String) {
        let text = text.lowercased()
        if text == "audio" || text == "video" {
            self = .major(text == "audio" ? .audio : .video)
        } else if text.utf8.count <= 100, text.wholeMatch(of: /(?:audio|video|application)\/[a-z0-9+.\-]+/) != nil {
            self = .type(text)
        } else {
            // `96k`, `1.5M` or `64000`, in bits per second.
            let rate = text.filter { $0 != " " }.wholeMatch(of: /<=([0-9.]+)(?:([km])(?:b|bit|bps|bit\/s)?)?/)
            guard let rate, let number = Double(rate.1), number > 0, number.isFinite else { return nil }
            self = .atMost(number * (rate.2 == "k" ? 1_000 : rate.2 == "m" ? 1_000_000 : 1))
        }
    }

    /// Returns the index of the chosen encoding in `media`. If none fits, this is 0, the index of the main encoding.
    ///
    /// - Parameter duration: The item's duration in seconds, from which a missing bit rate is computed.
    package func choice(among media: [Medium], duration: Double?) -> Int {
        switch self {
        case .type(let type): return media.firstIndex { Self.fits($0, type) } ?? 0
        case .major(let major): return media.firstIndex { Self.major($0) == major } ?? 0
        case .atMost(let limit):
            let major = media.first.flatMap(Self.major)
            let rates = media.map { medium -> Double in
                let rate = Self.major(medium) == major ? Self.bitRate(of: medium, duration: duration) ?? 0 : 0
                return rate <= limit ? rate : 0
            }
            guard let best = rates.max(), best > 0 else { return 0 }
            return rates.firstIndex(of: best) ?? 0
        }
    }

    private static func major(_ medium: Medium) -> MediaType.Major? {
        MediaType(type: medium.type, url: medium.addresses[0]).major
    }

    /// Returns whether an encoding has this MIME type, under any of the type's names, or lists the type's subtype
    /// (`opus` of `audio/opus`) among its codecs. For an encoding without a MIME type, the file extension in its URL is
    /// compared instead.
    private static func fits(_ medium: Medium, _ type: String) -> Bool {
        let codecs = medium.codecs?.lowercased().split { ", ".contains($0) } ?? []
        if medium.type == type || codecs.contains(where: { type.hasSuffix("/\($0)") }) { return true }
        guard let wanted = MediaType.types[type]?.first else { return false }
        guard let own = medium.type else { return MediaType.pathExtension(of: medium.addresses[0]) == wanted }
        return MediaType.types[own]?.first == wanted
    }

    /// Returns the encoding's bit rate in bits per second, computed from length and duration if the feed has none.
    private static func bitRate(of medium: Medium, duration: Double?) -> Double? {
        if let rate = medium.bitRate, rate > 0 { return rate }
        guard let length = medium.length, let duration, duration > 0 else { return nil }
        return Double(length) * 8 / duration
    }
}
