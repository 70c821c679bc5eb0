internal import Glibc

/// The address space of an IP address: how private its network is, as in Private Network Access (a draft of the W3C's
/// WICG).
package enum AddressSpace: Int, Sendable, Codable, Comparable, CaseIterable {
    /// Reachable by everybody.
    case `public`
    /// Reachable from the local network only: private, link-local, unique-local, shared, multicast; and everything else
    /// that is not globally assigned.
    case local
    /// This computer.
    case loopback

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The location, as worded in an error message.
    package var phrase: String {
        switch self {
        case .public: "on the internet"
        case .local: "on the local network"
        case .loopback: "on this computer"
        }
    }
}

/// An IPv4 or IPv6 address. IPv4 is stored in its IPv4-mapped form, `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2): both forms
/// reach the same host, so they are equal.
package struct NetworkAddress: Sendable, Hashable {
    /// The upper half in host byte order.
    fileprivate let high: UInt64
    fileprivate let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    private init(ipv4: UInt32) { self.init(high: 0, low: Self.mappedPrefix << 32 | UInt64(ipv4)) }

    /// Reads the bytes of a `sockaddr_in` or `sockaddr_in6`; `nil` for another family.
    package init?(socketAddress bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8 else { return nil }
        // Linux's numbers (AF_INET, AF_INET6), and the offsets of sin_addr and sin6_addr.
        switch bytes.loadUnaligned(as: UInt16.self) {
        case 2: self.init(networkBytes: UnsafeRawBufferPointer(rebasing: bytes[4..<8]))
        case 10 where bytes.count >= 24: self.init(networkBytes: UnsafeRawBufferPointer(rebasing: bytes[8..<24]))
        default: return nil
        }
    }

    /// Reads the four or sixteen bytes of an address in network byte order; `nil` for another number of bytes.
    package init?(networkBytes bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        case 16:
            self.init(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        default: return nil
        }
    }

    /// Parses the text forms of inet_pton(3), also in brackets. A zone such as `%eth0` is not accepted.
    package init?(_ text: some StringProtocol) {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let text = isBracketed ? String(text.dropFirst().dropLast()) : String(text)
        var bytes: [UInt8] = Array(repeating: 0, count: 16)
        guard !text.utf8.contains(0) else { return nil }
        if inet_pton(AF_INET, text, &bytes) == 1 {
            bytes.removeLast(12)
        } else if inet_pton(AF_INET6, text, &bytes) != 1 {
            return nil
        }
        guard let address = bytes.withUnsafeBytes(Self.init(networkBytes:)) else { return nil }
        self = address
    }

    // MARK: Address space

    private static let mappedPrefix: UInt64 = 0xFFFF

    private var ipv4: UInt32? {
        high == 0 && low >> 32 == Self.mappedPrefix ? UInt32(truncatingIfNeeded: low) : nil
    }

    /// The space according to IANA's special-purpose address registries (RFC 6890), as of 2024. IPv4 addresses in no
    /// special block are `public`. IPv6 addresses in no known block are `local`, so that a block assigned later is
    /// refused rather than reached.
    package var space: AddressSpace {
        if ipv4 != nil { return Self.ipv4Blocks.first { $0.block.contains(self) }?.space ?? .public }
        let own = Self.ipv6Blocks.first { $0.block.contains(self) }?.space ?? .local
        // A translator or a tunnel reaches the embedded IPv4 address, so the more private space of the two counts.
        return embedded.map { max(own, $0.space) } ?? own
    }

    /// The IPv4 address embedded in an IPv6 address.
    private var embedded: NetworkAddress? {
        let last = UInt32(truncatingIfNeeded: low)
        switch (high, low >> 32) {
        // IPv4-compatible (RFC 4291 §2.5.5.1, deprecated) and IPv4-translated (RFC 2765 §2.1); `::` and `::1` are in
        // `ipv6Blocks`.
        case (0, 0) where last > 1, (0, 0xFFFF_0000): return NetworkAddress(ipv4: last)
        // The well-known prefix of NAT64 (RFC 6052 §2.1).
        case (0x0064_FF9B_0000_0000, 0): return NetworkAddress(ipv4: last)
        // ISATAP's interface identifiers (RFC 5214 §6.1), without and with the bit that marks the IPv4 address as
        // globally unique.
        case (_, 0x0000_5EFE), (_, 0x0200_5EFE): return NetworkAddress(ipv4: last)
        // 6to4 (RFC 3056 §2).
        case _ where high >> 48 == 0x2002: return NetworkAddress(ipv4: UInt32(truncatingIfNeeded: high >> 16))
        // Teredo: the client's address, with all bits inverted (RFC 4380 §4).
        case _ where high >> 32 == 0x2001_0000: return NetworkAddress(ipv4: ~last)
        default: return nil
        }
    }

    /// The special IPv4 blocks; the first that contains an address decides. Other addresses are public.
    private static let ipv4Blocks =
        // "This network" (RFC 791 §3.2): on Linux, a connection to 0.0.0.0 reaches this computer. Loopback (RFC 1122
        // §3.2.1.3).
        blocks(.loopback, ["0.0.0.0/8", "127.0.0.0/8"])
        + blocks(
            .local,
            [
                // Private (RFC 1918).
                "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                // Shared by the customers of a provider (RFC 6598). Link-local (RFC 3927), including cloud metadata
                // services.
                "100.64.0.0/10", "169.254.0.0/16",
                // Protocol assignments (RFC 6890 §2.1), documentation (RFC 5737), the former 6to4 relays (RFC 7526),
                // benchmarks (RFC 2544).
                "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "192.88.99.0/24", "198.18.0.0/15",
                // Multicast (RFC 5771), reserved and limited broadcast (RFC 1112 §4, RFC 8190).
                "224.0.0.0/4", "240.0.0.0/4",
            ])

    /// The IPv6 blocks; the first that contains an address decides. Other addresses are local: unique-local (RFC 4193),
    /// link-local (RFC 4291 §2.5.6), the former site-local (RFC 3879), multicast, discard-only (RFC 6666), local NAT64
    /// (RFC 8215), segment identifiers (RFC 9602), and all unassigned ones.
    private static let ipv6Blocks =
        // Unspecified, which on Linux reaches this computer, and loopback (RFC 4291 §2.5.2, §2.5.3).
        blocks(.loopback, ["::/127"])
        // NAT64's well-known prefix, and Teredo: the embedded address decides.
        + blocks(.public, ["64:ff9b::/96", "2001::/32"])
        // The other protocol assignments (RFC 2928), and documentation (RFC 3849, RFC 9637).
        + blocks(.local, ["2001::/23", "2001:db8::/32", "3fff::/20"])
        // Global unicast (RFC 4291 §2.4, as IANA assigns it).
        + blocks(.public, ["2000::/3"])

    private static func blocks(
        _ space: AddressSpace, _ texts: [String]
    ) -> [(block: AddressBlock, space: AddressSpace)] {
        texts.map { text in
            guard let block = AddressBlock(text) else { preconditionFailure("\(text) is no address block") }
            return (block, space)
        }
    }
}

/// A block of addresses with a common prefix (RFC 4632 §3.1).
package struct AddressBlock: Sendable, Hashable {
    private let first: NetworkAddress
    /// The prefix length in bits, from 0 to 128; for an IPv4 block it includes the 96 bits of the mapped form.
    private let length: Int

    /// Parses `192.168.0.0/16`, `fd00::/8`, or one address.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first.flatMap({ NetworkAddress($0) }) else { return nil }
        // A mapped address in IPv6 notation has an IPv6 prefix length.
        let bits = parts[0].contains(":") ? 128 : 32
        var length = bits
        if parts.count > 1 {
            guard let number = Int64(digits: parts[1]), number <= bits else { return nil }
            length = Int(number)
        }
        self.first = first
        self.length = length + 128 - bits
    }

    /// Returns whether an address belongs to the block.
    package func contains(_ address: NetworkAddress) -> Bool {
        Self.agree(first.high, address.high, min(length, 64)) && Self.agree(first.low, address.low, max(0, length - 64))
    }

    private static func agree(_ one: UInt64, _ other: UInt64, _ bits: Int) -> Bool {
        bits == 0 || (one ^ other) >> UInt64(64 - bits) == 0
    }
}
