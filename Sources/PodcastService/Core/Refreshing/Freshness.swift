internal import Transfers

/// The freshness lifetime of a response (RFC 9111 §4.2), and the delay in Retry-After.
enum Freshness {
    /// The maximum time that is accepted from a server. A week: a Retry-After of a year is a mistake, and RFC
    /// 9111 §1.2.2 allows limiting values.
    static let longest = Duration.seconds(7 * 86_400)

    /// Returns how long the response stays fresh, zero if it is stale; `nil` if its header does not say.
    ///
    /// In the order of RFC 9111 §4.2.1: `max-age`, then `Expires`. If there is no `max-age`, `s-maxage` replaces it,
    /// although it is meant for shared caches: the publisher's CDN obeys it, so an earlier request would return the
    /// same bytes. `no-cache` and `no-store` mean 0. Time already spent in caches (`Age`, §5.1) is subtracted.
    ///
    /// - Parameter now: seconds since 1970, used if `Date` is missing.
    static func lifetime(_ head: ResponseHead, now: Int64) -> Duration? {
        guard let stated = stated(head, now: now) else { return nil }
        let age = head["age"].flatMap(seconds) ?? .zero
        return min(max(.zero, stated - age), longest)
    }

    /// Returns the lifetime that the header states, counted from the time at which the origin server generated the
    /// response; `nil` if it states none.
    private static func stated(_ head: ResponseHead, now: Int64) -> Duration? {
        // The quotes of an argument are ignored: no argument that matters here contains a comma.
        let directives = (head["cache-control"] ?? "").lowercased().filter { !" \t\"".contains($0) }
            .split(separator: ",").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        // With an argument, `no-cache` applies only to the fields named there (RFC 9111 §5.2.2.4).
        if directives.contains(where: { $0 == ["no-cache"] || $0.first == "no-store" }) { return .zero }
        for name in ["max-age", "s-maxage"] {
            guard let directive = directives.first(where: { $0.first == name }) else { continue }
            // An invalid value makes the response stale (RFC 9111 §4.2.1).
            return directive.count == 2 ? seconds(directive[1]) ?? .zero : .zero
        }
        guard let expires = head["expires"] else { return nil }
        // "0" and other invalid dates mean the past (RFC 9111 §5.3).
        guard let moment = HTTPDate.seconds(expires) else { return .zero }
        return .seconds(max(0, moment - (head["date"].flatMap(HTTPDate.seconds) ?? now)))
    }

    /// Returns the delay in Retry-After, which is a number or a date; `nil` if the field is absent or neither.
    ///
    /// - Parameter now: seconds since 1970, subtracted from a date.
    static func retryAfter(_ head: ResponseHead, now: Int64) -> Duration? {
        let dated = head["retry-after"].flatMap(HTTPDate.seconds).map { Duration.seconds(max(0, $0 - now)) }
        return (head.retryAfter ?? head["retry-after"].flatMap(seconds) ?? dated).map { min($0, longest) }
    }

    /// Parses HTTP's delta-seconds: digits only. A value that exceeds 64 bits means a very long time, not an error.
    private static func seconds(_ text: String) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return .seconds(Int64(text) ?? .max)
    }
}
