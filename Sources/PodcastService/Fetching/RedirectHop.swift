internal import Platform

/// One redirect: the status sent by the server at `from`, and the target.
package struct RedirectHop: Sendable, Equatable {
    /// 301, 302, 303, 307 or 308.
    package var status: Int
    /// The address that was requested, and the target; both absolute.
    package var from: String
    package var to: String

    /// Whether clients should use the new address from now on (RFC 9110 §15.4.2 and §15.4.9).
    package var isPermanent: Bool { status == 301 || status == 308 }
}

/// The redirects from the requested address to that of the final response.
package struct RedirectChain: Sendable, Equatable {
    package let requested: String
    package var hops: [RedirectHop] = []
    package let final: String

    /// Whether every redirect was permanent, without a gap between the requested and the final address. One temporary
    /// redirect, such as to a log-in page, makes the chain temporary.
    package var isPermanent: Bool {
        guard !hops.isEmpty else { return false }
        var address = requested
        for hop in hops {
            guard hop.isPermanent, Self.isSame(hop.from, address) else { return false }
            address = hop.to
        }
        return Self.isSame(address, final)
    }

    /// Returns whether two spellings of an address are the same to a server; http and https differ.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let one = try? WebAddress(one), let other = try? WebAddress(other) else { return false }
        return one.key == other.key && one.isSecure == other.isSecure
    }
}
