import Testing

@testable import Transfers

/// The addresses that requests caused by a feed may reach.
struct ReachTests {
    private func peer(_ text: String) throws -> ReachTrail.Peer { .host(try #require(NetworkAddress(text))) }

    private func trail(_ limit: AddressSpace?, allowing texts: String...) throws -> ReachTrail {
        var policy = ReachPolicy()
        policy.exceptions = try texts.map { try #require(ReachPolicy.Exception($0)) }
        return ReachTrail(policy: policy, limit: limit)
    }

    /// Returns whether the trail allows a connection to the address, and then a request on it.
    private func reach(_ trail: inout ReachTrail, _ address: String, host: String = "h.example") throws -> Bool {
        let allowsConnection = trail.allowsConnection(to: try peer(address), host: host)
        // Over a reused connection only the request is checked, so that check alone must give the same result.
        var other = trail
        #expect(other.allowsRequest(to: try peer(address), host: host) == allowsConnection)
        return allowsConnection ? trail.allowsRequest(to: try peer(address), host: host) : false
    }

    @Test(arguments: AddressSpace.allCases) func nothingLeadsToAMorePrivateSpace(_ from: AddressSpace) throws {
        for (address, space) in [("8.8.8.8", AddressSpace.public), ("10.1.1.1", .local), ("::1", .loopback)] {
            var trail = try trail(from)
            #expect(try reach(&trail, address) == (space <= from), "\(address)")
            #expect((trail.refusal == nil) == (space <= from))
            #expect(trail.space == (space <= from ? space : nil))
        }
    }

    @Test func aUsersAddressMayBeInAnySpaceButLeadsToNoMorePrivateOne() throws {
        for address in ["8.8.8.8", "10.1.1.1", "127.0.0.1"] {
            var trail = try trail(nil)
            #expect(try reach(&trail, address))
            trail.redirected()
            #expect(try reach(&trail, "127.0.0.1") == (address == "127.0.0.1"))
        }
        // A redirect through an internet host does not lead back: that host may redirect only to internet hosts.
        var detour = try trail(nil)
        #expect(try reach(&detour, "10.1.1.1"))
        detour.redirected()
        #expect(try reach(&detour, "8.8.8.8"))
        detour.redirected()
        #expect(try !reach(&detour, "10.1.1.1"))
        #expect(detour.firstSpace == .local && detour.space == .public)
    }

    @Test func aRefusalNamesTheHostAndTheSetting() throws {
        var trail = try trail(.public)
        #expect(try !reach(&trail, "192.168.1.9", host: "nas.lan"))
        let text =
            "nas.lan is on the local network, but the address that led to it is not; "
            + "add nas.lan to transfers.allow_private to allow it"
        #expect(trail.refusal == TransferError(.outOfReach, text))
        #expect(try !reach(&trail, "127.0.0.1", host: "me"))
        let beginning = "me is on this computer, but the address that led to it is not;"
        #expect(trail.refusal?.message.hasPrefix(beginning) == true)
    }

    /// If one of the addresses of a host name is allowed, the refusal of the others is not reported.
    @Test func anAllowedAddressClearsTheRefusalOfOthers() throws {
        for addresses in [["10.0.0.1", "8.8.8.8"], ["8.8.8.8", "10.0.0.1"]] {
            var trail = try trail(.public)
            let allowed = try addresses.filter { trail.allowsConnection(to: try peer($0), host: "h") }
            #expect(allowed == ["8.8.8.8"] && trail.refusal == nil)
        }
    }

    @Test func exceptionsAreHostsAndAddresses() throws {
        var name = try trail(.public, allowing: "NAS.lan.", "fd00::/8")
        #expect(try reach(&name, "192.168.1.9", host: "nas.LAN") && name.space == .public)
        name.redirected()
        #expect(try !reach(&name, "192.168.1.9", host: "other.lan"), "the exception covers no other host")
        #expect(try !reach(&name, "192.168.1.9", host: "my.nas.lan"))
        #expect(try reach(&name, "fd12::1", host: "x") && !reach(&name, "fe80::1", host: "x"))
        // If a person entered the address, the trail has no limit, and the exception does not change the space.
        var given = try trail(nil, allowing: "nas.lan")
        #expect(try reach(&given, "192.168.1.9", host: "nas.lan") && given.space == .local)
        for text in ["nas.lan", "NAS", "xn--bcher-kva.example", "my_nas", "10.0.0.1", "10.0.0.0/8", "::1", "büro.lan"] {
            #expect(ReachPolicy.Exception(text) != nil, "\(text)")
        }
        for text in [
            "", ".", "a b", "*.lan", "http://nas.lan", "nas.lan:80", "10.0.0.0/33", "1.2.3.999", "a..b", "[::1]x",
        ] {
            #expect(ReachPolicy.Exception(text) == nil, "\(text)")
        }
    }

    /// podfs's peer is then the proxy, which resolves the host's name. So the peer's address says nothing about the
    /// host.
    @Test func behindAProxyOnlyTheTextOfTheHostIsChecked() throws {
        for (host, space) in [
            ("example.com", AddressSpace.public), ("10.0.0.1", .local), ("[fd00::1]", .local), ("127.0.0.1", .loopback),
            ("localhost", .loopback), ("LOCALHOST.", .loopback), ("x.localhost", .loopback),
            ("localhost.example", .public),
        ] {
            var led = try trail(.public)
            #expect(led.allowsConnection(to: .proxy, host: host) == (space == .public), "\(host)")
            #expect(led.allowsRequest(to: .proxy, host: host) == (space == .public), "\(host)")
            var given = try trail(nil)
            #expect(given.allowsRequest(to: .proxy, host: host) && given.space == space, "\(host)")
        }
    }
}
