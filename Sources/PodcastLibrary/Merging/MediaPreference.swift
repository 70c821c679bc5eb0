package import PodcastFeed

/// The setting `prefer`: the encoding that a show's new episodes should have when their items offer several.
package enum MediaPreference: Sendable, Equatable {
    /// A MIME type in lower case, such as `audio/opus`.
    case type(String)
    case audio
    case video
    /// The encoding with the highest bit rate up to this limit, in bits per second, among those with the main
    /// encoding's major type (audio or video).
    case atMost(Double)

    /// The allowed values, for messages.
    package static let forms = "a MIME type such as audio/opus, \"audio\", \"video\", or a bit rate such as \"<=96k\""

    /// Parses a value of the setting; `nil` if it is invalid.
    package init?(_ text: String) {
        let text = text.lowercased()
        if text == "audio" {
            self = .audio
        } else if text == "video" {
            self = .video
        } else if text.hasPrefix("<=") {
            guard let rate = Self.rate(text.dropFirst(2).filter { $0 != " " }) else { return nil }
            self = .atMost(rate)
        } else {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, ["audio", "video", "application"].contains(parts[0]), !parts[1].isEmpty,
                text.utf8.count <= 100,
                parts[1].utf8.allSatisfy({
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || "+-.".utf8.contains($0)
                })
            else { return nil }
            self = .type(text)
        }
    }

    /// Parses `96k`, `1.5M` or `64000`, in bits per second.
    private static func rate(_ text: some StringProtocol) -> Double? {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard let number = Double(digits), number.isFinite, number > 0 else { return nil }
        switch text.dropFirst(digits.count) {
        case "": return number
        case "k", "kb", "kbit", "kbps", "kbit/s": return number * 1_000
        case "m", "mb", "mbit", "mbps", "mbit/s": return number * 1_000_000
        default: return nil
        }
    }

    /// Returns the index of the chosen encoding in `media`. If none fits, this is 0, the index of the main encoding.
    ///
    /// - Parameter duration: The item's duration in seconds, from which a missing bit rate is computed.
    package func choice(among media: [Medium], duration: Double?) -> Int {
        switch self {
        case .type(let type): return media.firstIndex { Self.fits($0, type) } ?? 0
        case .audio: return media.firstIndex { Self.major($0) == .audio } ?? 0
        case .video: return media.firstIndex { Self.major($0) == .video } ?? 0
        case .atMost(let limit):
            let major = media.first.flatMap(Self.major)
            let rates = media.indices.map { index -> Double in
                guard Self.major(media[index]) == major, let rate = Self.bitRate(of: media[index], duration: duration),
                    rate <= limit
                else { return 0 }
                return rate
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
        if medium.type == type { return true }
        if let codec = type.split(separator: "/").last, let codecs = medium.codecs?.lowercased(),
            codecs.split(whereSeparator: { ", ".contains($0) }).contains(codec)
        {
            return true
        }
        guard let wanted = MediaType.types[type]?.first else { return false }
        return medium.type.flatMap { MediaType.types[$0]?.first } == wanted
            || medium.type == nil && MediaType.pathExtension(of: medium.addresses[0]) == wanted
    }

    /// Returns the encoding's bit rate in bits per second, computed from length and duration if the feed has none.
    private static func bitRate(of medium: Medium, duration: Double?) -> Double? {
        if let rate = medium.bitRate, rate > 0 { return rate }
        guard let length = medium.length, let duration, duration > 0 else { return nil }
        return Double(length) * 8 / duration
    }
}
