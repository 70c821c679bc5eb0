internal import Foundation
internal import Platform
import PodcastFeed
package import PodcastProtocol
internal import Transfers

extension Library {
    /// Whether a feed of the show may be generated for other people. The setting `share` decides; without it, a private
    /// feed and one that its publisher does not want listed (`itunes:block`) are not shared.
    package func isShared(_ show: Podcast) throws -> Bool {
        if let isShared = try settings(of: show.id)["share"].flatMap(Bool.init) { return isShared }
        return try !show.hasCredentials && !SecretAddress.isLikely(show.url)
            && details(ofShow: show.id)?.isBlocked != true
    }

    /// Whether a show also shares the episodes that its publisher does not want listed.
    package func sharesAll(of show: ShowID) throws -> Bool { try settings(of: show)["share"] == "true" }
}

extension EpisodeSummary {
    /// The guid of the episode in a feed for other people. It is the publisher's guid, or a hash of that guid if it is
    /// a URL, which may contain a secret. An episode without a guid gets one that contains its id.
    package var sharedGUID: String {
        guard let guid, !guid.isEmpty else { return "podfs-episode-\(id)" }
        guard guid.contains("://") else { return guid }
        // 128 bits: two 64-bit hashes, of different inputs.
        return "podfs-"
            + [guid, "\(guid)\n"].map { text in
                var digest = Digest()
                digest.add(text)
                let digits = String(UInt64(bitPattern: digest.value), radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
    }
}

/// The detection of feed URLs that are meant for one person only.
enum SecretAddress {
    /// The query parameters that carry a secret in the feeds of Patreon, Supporting Cast, Substack and others.
    private static let names: Set<String> = [
        "auth", "token", "key", "apikey", "api_key", "access_token", "secret", "pass", "password", "sig", "signature",
        "user", "uid", "email", "member", "subscriber", "t",
    ]

    /// Whether a URL looks as if it contained a secret: user info, a query parameter with one of `names` or with a
    /// token as its value, or a path component that begins with `private` or contains a token. A UUID in the path does
    /// not make a URL secret: public feeds have them.
    static func isLikely(_ url: String) -> Bool {
        guard let address = try? WebAddress(url) else { return false }
        if address.hasUserInfo { return true }
        let path = address.path.split(separator: "/")
        let query = address.query.split(whereSeparator: { $0 == "&" || $0 == ";" })
        return path.contains { $0.lowercased().hasPrefix("private") || isToken($0, atLeast: 32) && !isUUID($0) }
            || query.contains { parameter in
                let pair = parameter.split(separator: "=", maxSplits: 1)
                return pair.count == 2 && (names.contains(pair[0].lowercased()) || isToken(pair[1], atLeast: 16))
            }
    }

    /// Whether a text contains a word of at least this length with both letters and digits.
    private static func isToken(_ text: Substring, atLeast length: Int) -> Bool {
        text.split { !$0.isASCII || !($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }.contains { word in
            word.count >= length && word.contains(where: \.isNumber) && word.contains(where: \.isLetter)
        }
    }

    private static func isUUID(_ text: Substring) -> Bool {
        UUID(uuidString: String(text.prefix { $0 != "." })) != nil
    }
}
