/// The rule for addresses that a feed or a server refers to: none may be in a more private address space than the feed
/// or server itself. So nobody on the internet can make podfs send requests to hosts that only this computer or its
/// network can reach.
package struct ReachPolicy: Sendable {
    /// Hosts and addresses that are allowed nevertheless (`transfers.allow_private`).
    package var exceptions: [Exception] = []
    /// Blocks that are assumed to be in another space; the first that contains an address decides. For tests, which
    /// only have loopback addresses.
    package var assumed: [(block: AddressBlock, space: AddressSpace)] = []

    /// A host or address block that is always allowed.
    package enum Exception: Sendable, Equatable {
        /// A host name, whatever its address; in lower case, without a trailing dot.
        case host(String)
        case addresses(AddressBlock)

        /// Parses `nas.lan`, `192.168.1.7`, `192.168.0.0/16`, `fd00::/8`; `nil` for other text.
        package init?(_ text: String) {
            if let block = AddressBlock(text) {
                self = .addresses(block)
                return
            }
            let name = ReachPolicy.normalized(text)
            let labels = name.split(separator: ".", omittingEmptySubsequences: false)
            guard name.utf8.count <= 253, labels.allSatisfy({ !$0.isEmpty }),
                name.unicodeScalars.allSatisfy(Self.isInName),
                // Reject malformed addresses, such as `192.168.1.300`: no host name ends in a label of digits. An
                // address with an invalid prefix length has a slash, which `isInName` rejects.
                labels.last?.contains(where: { !$0.isNumber }) == true
            else { return nil }
            self = .host(name)
        }

        private static func isInName(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-._".unicodeScalars.contains(scalar)
        }
    }

    package init() {}

    package func space(of address: NetworkAddress) -> AddressSpace {
        assumed.first { $0.block.contains(address) }?.space ?? address.space
    }

    /// Returns whether an address or a host is always allowed.
    package func excepts(_ address: NetworkAddress?, host: String) -> Bool {
        let name = Self.normalized(host)
        return exceptions.contains { exception in
            switch exception {
            case .host(let host): host == name
            case .addresses(let block): address.map(block.contains) ?? false
            }
        }
    }

    fileprivate static func normalized(_ host: String) -> String {
        let name = host.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

/// The check of the addresses to which one exchange connects. An exchange is a request with all its redirects; each
/// request of this chain is a hop. The check examines the addresses of the actual connections, so a later DNS lookup
/// with another result cannot evade it. A value without IO.
package struct ReachTrail: Sendable {
    private let policy: ReachPolicy
    /// The most private space allowed for the next connection or request; `nil` for any. At first it is the space of
    /// the feed or server that refers to the first URL, and `nil` if a person entered that URL.
    private var limit: AddressSpace?
    /// The error of the last refused address of the current hop. It counts only if `wasAllowed` is false.
    private var refused: TransferError?
    /// Whether an address of the current hop was allowed.
    private var wasAllowed = false
    /// The space of the last request's address. If an exception permitted an address in a more private space than the
    /// limit, the value is the limit.
    package private(set) var space: AddressSpace?
    /// The value of `space` after the first request.
    package private(set) var firstSpace: AddressSpace?

    /// The peer of a hop's connection.
    package enum Peer: Sendable {
        /// The address of the host itself.
        case host(NetworkAddress)
        /// A proxy configured by the user. The proxy resolves the host's name, so only a host given as a numeric
        /// address, or as `localhost`, can be checked.
        case proxy
    }

    init(policy: ReachPolicy, limit: AddressSpace?) { (self.policy, self.limit) = (policy, limit) }

    /// Checks a connection before it is made. Called once for each address of the host that curl tries.
    package mutating func allowsConnection(to peer: Peer, host: String) -> Bool {
        let (space, address) = resolve(peer, host)
        guard let limit, space > limit, !policy.excepts(address, host: host) else {
            wasAllowed = true
            return true
        }
        if !wasAllowed { refused = Self.refusal(host: host, space: space) }
        return false
    }

    /// Checks a request before it is sent, over a new or a reused connection. The address space of an allowed request
    /// becomes the limit of the next hop.
    package mutating func allowsRequest(to peer: Peer, host: String) -> Bool {
        let (space, address) = resolve(peer, host)
        let isExcepted = policy.excepts(address, host: host)
        if let limit, space > limit, !isExcepted {
            wasAllowed = false
            refused = Self.refusal(host: host, space: space)
            return false
        }
        wasAllowed = true
        refused = nil
        // An exception permits only the host itself: addresses that the host leads to have the same limit as before.
        let reached = min(limit ?? space, space)
        limit = reached
        self.space = reached
        firstSpace = firstSpace ?? reached
        return true
    }

    /// Starts the next hop after a redirect.
    package mutating func redirected() {
        refused = nil
        wasAllowed = false
    }

    /// The refusal of the current hop; `nil` if an address was allowed, or none was refused.
    package var refusal: TransferError? { wasAllowed ? nil : refused }

    private func resolve(_ peer: Peer, _ host: String) -> (AddressSpace, NetworkAddress?) {
        switch peer {
        case .host(let address): return (policy.space(of: address), address)
        case .proxy:
            let name = ReachPolicy.normalized(host)
            // RFC 6761 §6.3.
            if name == "localhost" || name.hasSuffix(".localhost") { return (.loopback, nil) }
            let address = NetworkAddress(name)
            return (address.map(policy.space) ?? .public, address)
        }
    }

    private static func refusal(host: String, space: AddressSpace) -> TransferError {
        TransferError(
            .outOfReach,
            "\(host) is \(space.phrase), but the address that led to it is not; "
                + "add \(host) to transfers.allow_private to allow it")
    }
}
