/// One step of a redirect: what the server at `from` answered, and where it sent the client.
package struct RedirectHop: Sendable, Equatable {
    /// 301, 302, 303, 307 or 308.
    package var status: Int
    /// Absolute addresses, as they were asked for.
    package var from: String
    package var to: String

    package init(status: Int, from: String, to: String) {
        self.status = status
        self.from = from
        self.to = to
    }

    /// Whether clients should ask the new address from now on (RFC 9110 §15.4.2 and §15.4.9).
    package var isPermanent: Bool { status == 301 || status == 308 }
}

/// The way from the address that was asked for to the one that answered.
package struct RedirectChain: Sendable, Equatable {
    package let requested: String
    package let hops: [RedirectHop]
    package let final: String

    package init(requested: String, hops: [RedirectHop] = [], final: String) {
        self.requested = requested
        self.hops = hops
        self.final = final
    }

    /// Whether every step was permanent, and they lead without a gap from the address that was asked for to the one
    /// that answered. One temporary step, a log-in for instance, makes the whole temporary.
    package var isPermanent: Bool {
        guard !hops.isEmpty else { return false }
        var place = requested
        for hop in hops {
            guard hop.isPermanent, Self.isSame(hop.from, place) else { return false }
            place = hop.to
        }
        return Self.isSame(place, final)
    }

    /// Two spellings of an address that differ in nothing a server sees; http and https are not the same here.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let one = FeedAddress(one), let other = FeedAddress(other) else { return false }
        return one.key == other.key && one.isSecure == other.isSecure
    }
}
