package import TransferCore

/// How long a server calls its answer fresh (RFC 9111 §4.2), and how long it wants to be left alone.
package enum Freshness {
    /// The longest time in seconds that a server's word is taken for. A week: a Retry-After that names a year is a
    /// mistake, and RFC 9111 §1.2.2 lets a reader cut what it cannot represent.
    package static let longest: Int64 = 7 * 86_400

    /// Seconds for which the answer is fresh from now on, 0 when it is stale at once; `nil` when the head does not say.
    ///
    /// The order is that of RFC 9111 §4.2.1: `max-age`, then `Expires`. `s-maxage` is meant for shared caches and is
    /// looked at only where `max-age` is missing: the publisher's CDN obeys it, so that a request before then is
    /// answered with the same bytes. `no-cache` and `no-store` ask for a look at each use. What the answer has spent
    /// in caches already (`Age`, §5.1) is taken off.
    ///
    /// - Parameter now: seconds since 1970, in place of a missing `Date`.
    package static func seconds(_ head: ResponseHead, now: Int64) -> Int64? {
        guard let lifetime = lifetime(head, now: now) else { return nil }
        let age = head["age"].flatMap(digits) ?? 0
        return max(0, min(lifetime, longest) - age)
    }

    private static func lifetime(_ head: ResponseHead, now: Int64) -> Int64? {
        let directives = directives(head["cache-control"] ?? "")
        // With an argument it concerns the fields named there alone (RFC 9111 §5.2.2.4).
        if directives.contains(where: { $0 == ("no-cache", nil) || $0.name == "no-store" }) { return 0 }
        for name in ["max-age", "s-maxage"] {
            guard let directive = directives.first(where: { $0.name == name }) else { continue }
            // A value that cannot be read makes the answer stale (RFC 9111 §4.2.1).
            return directive.argument.flatMap(digits) ?? 0
        }
        guard let expires = head["expires"] else { return nil }
        // "0" and all else that is no date mean the past (RFC 9111 §5.3).
        guard let moment = HTTPDate.seconds(expires) else { return 0 }
        return max(0, moment - (head["date"].flatMap(HTTPDate.seconds) ?? now))
    }

    /// Retry-After in seconds, as a number or as a date; `nil` when it is absent or neither.
    package static func retryAfter(_ head: ResponseHead, now: Int64) -> Int64? {
        let dated = head["retry-after"].flatMap(HTTPDate.seconds).map { max(0, $0 - now) }
        return (head.retryAfter ?? head["retry-after"].flatMap(digits) ?? dated).map { min($0, longest) }
    }

    /// `max-age=60, private="a, b"` → names in lower case, and arguments without quotation marks.
    private static func directives(_ text: String) -> [(name: String, argument: String?)] {
        var result: [(String, String?)] = []
        var current = ""
        var isQuoted = false
        func finish() {
            let halves = current.split(separator: "=", maxSplits: 1)
            guard let name = halves.first.map({ trimmed($0).lowercased() }), !name.isEmpty else { return }
            result.append((name, halves.count > 1 ? String(trimmed(halves[1])) : nil))
        }
        for character in text {
            if character == "\"" {
                isQuoted.toggle()
            } else if character == ",", !isQuoted {
                finish()
                current = ""
            } else {
                current.append(character)
            }
        }
        finish()
        return result
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// HTTP's delta-seconds: digits alone. What is too large for 64 bits is very long, not unreadable.
    private static func digits(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}
