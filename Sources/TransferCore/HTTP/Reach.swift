/// Which addresses may be connected to by requests that a feed, or a server, has led to: none in a more private space than
/// its own, so that nobody on the internet makes podfs ask hosts that only this computer or its network reaches.
package struct ReachPolicy: Sendable, Equatable {
    /// What is reached nevertheless (`transfers.allow_private`).
    package var exceptions: [Exception] = []
    /// Blocks that are taken to be in another space than they are; the first that contains an address counts. For tests,
    /// which have loopback addresses only.
    package var assumed: [Assumption] = []

    package struct Assumption: Sendable, Equatable {
        package var block: AddressBlock
        package var space: AddressSpace

        package init(_ block: AddressBlock, _ space: AddressSpace) {
            self.block = block
            self.space = space
        }
    }

    package enum Exception: Sendable, Equatable {
        /// A name, wherever it leads; in lower case, without a dot at its end.
        case host(String)
        case addresses(AddressBlock)

        /// `nas.lan`, `192.168.1.7`, `192.168.0.0/16`, `fd00::/8`; `nil` for what is none of these.
        package init?(_ text: String) {
            if let block = AddressBlock(text) {
                self = .addresses(block)
                return
            }
            let name = ReachPolicy.plain(text)
            let labels = name.split(separator: ".", omittingEmptySubsequences: false)
            guard name.utf8.count <= 253, labels.allSatisfy({ !$0.isEmpty }),
                name.unicodeScalars.allSatisfy(Self.isInName),
                // Four numbers that are no address, or an address with a length that is none.
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

    func excepts(_ address: NetworkAddress?, host: String) -> Bool {
        let name = Self.plain(host)
        return exceptions.contains { exception in
            switch exception {
            case .host(let host): host == name
            case .addresses(let block): address.map(block.contains) ?? false
            }
        }
    }

    fileprivate static func plain(_ host: String) -> String {
        let name = host.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

/// The way of one exchange from hop to hop, judged by the addresses that it really connects to: what a name's next
/// answer is does not matter. Pure.
package struct ReachTrail: Sendable {
    private let policy: ReachPolicy
    /// The most private space that the next hop may be in; `nil` for any.
    private var limit: AddressSpace?
    /// Of the hop that is under way: an address was refused, and none was allowed.
    private var refused: TransferError?
    private var wasAllowed = false
    /// The space of the address that the last request went to; of an exception, that of what led to it.
    package private(set) var space: AddressSpace?
    /// The same of the first request.
    package private(set) var firstSpace: AddressSpace?

    /// What a hop is connected to.
    package enum Peer: Sendable {
        /// The address of the host itself.
        case host(NetworkAddress)
        /// A proxy, which podfs's user has chosen: it asks the host, and what it reaches is its own affair. Only a host that
        /// is written as an address, or as `localhost`, can be judged.
        case proxy
    }

    /// - Parameter limit: the space of what led here; `nil` where a person gave the address.
    package init(policy: ReachPolicy, limit: AddressSpace?) {
        self.policy = policy
        self.limit = limit
    }

    /// A connection is about to be made. Several are tried for a name with several addresses.
    package mutating func mayConnect(to peer: Peer, host: String) -> Bool {
        let (space, address) = judge(peer, host)
        guard let limit, space > limit, !policy.excepts(address, host: host) else {
            wasAllowed = true
            return true
        }
        if !wasAllowed { refused = Self.refusal(host: host, space: space) }
        return false
    }

    /// A request is about to be sent, over a new connection or one that was kept.
    package mutating func maySend(to peer: Peer, host: String) -> Bool {
        let (space, address) = judge(peer, host)
        let isExcepted = policy.excepts(address, host: host)
        if let limit, space > limit, !isExcepted {
            wasAllowed = false
            refused = Self.refusal(host: host, space: space)
            return false
        }
        wasAllowed = true
        refused = nil
        // An exception lets one host be reached, which leads no further than what led to it.
        let reached = min(limit ?? space, space)
        limit = reached
        self.space = reached
        firstSpace = firstSpace ?? reached
        return true
    }

    /// The answer leads to another address.
    package mutating func redirected() {
        refused = nil
        wasAllowed = false
    }

    /// Why the exchange ended where it ended for want of a connection, if it was for its address.
    package var refusal: TransferError? { wasAllowed ? nil : refused }

    private func judge(_ peer: Peer, _ host: String) -> (AddressSpace, NetworkAddress?) {
        switch peer {
        case .host(let address): return (policy.space(of: address), address)
        case .proxy:
            let name = ReachPolicy.plain(host)
            // RFC 6761 §6.3.
            if name == "localhost" || name.hasSuffix(".localhost") { return (.loopback, nil) }
            let address = NetworkAddress(name)
            return (address.map(policy.space) ?? .public, address)
        }
    }

    private static func refusal(host: String, space: AddressSpace) -> TransferError {
        TransferError(
            .outOfReach, "\(host) is \(space.place), and the feed is not; transfers.allow_private allows it")
    }
}
