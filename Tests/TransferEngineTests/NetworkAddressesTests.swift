import Glibc
import Testing

@testable import Transfers

/// Parsing of the kernel's messages about addresses, interfaces and routes (rtnetlink(7)), which are built here byte by
/// byte.
struct NetworkAddressesTests {
    private static let one = NetworkAddress("192.0.2.1")
    private static let six = NetworkAddress("2001:db8::1")
    private static let sixBytes: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]

    private static func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
    private static func half(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    private static func message(_ type: UInt16, _ body: [UInt8]) -> [UInt8] {
        let bytes = word(UInt32(16 + body.count)) + half(type) + half(0) + word(0) + word(0) + body
        return bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
    }

    private static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        half(UInt16(4 + value.count)) + half(type) + value + [UInt8](repeating: 0, count: -value.count & 3)
    }

    /// Returns a message about an address. RTM_NEWADDR is 20, RTM_DELADDR 21; the attribute IFA_ADDRESS is 1, IFA_LOCAL
    /// 2, IFA_LABEL 3.
    private static func address(_ type: UInt16, _ attributes: [(UInt16, [UInt8])], flags: UInt8 = 0) -> [UInt8] {
        message(type, [2, 24, flags, 0] + word(2) + attributes.flatMap { attribute($0.0, $0.1) })
    }

    /// Returns an RTM_NEWLINK (16). With the flag 0x40 (IFF_RUNNING) the interface has a carrier.
    private static func link(_ index: UInt32, flags: UInt32) -> [UInt8] {
        message(16, [0, 0] + half(1) + word(index) + word(flags) + word(0))
    }

    private func apply(_ messages: [UInt8], to addresses: inout NetworkAddresses) -> NetworkAddresses.Change {
        messages.withUnsafeBytes { addresses.apply($0) }
    }

    @Test func addressesComeAndGo() throws {
        let (one, six) = (try #require(Self.one), try #require(Self.six))
        var addresses = NetworkAddresses(assigned: [])
        // On a point-to-point link, IFA_ADDRESS is the peer's address, and IFA_LOCAL this computer's.
        let added = Self.address(20, [(1, [192, 0, 2, 99]), (2, [192, 0, 2, 1]), (3, [0x6C, 0x6F, 0])])
        #expect(apply(added, to: &addresses) == .init(isBack: true))
        #expect(addresses.assigned == [one])
        #expect(apply(added, to: &addresses).isNone, "the address is already assigned")
        let tentative = Self.address(20, [(1, Self.sixBytes)], flags: 0x40)
        #expect(apply(tentative, to: &addresses).isNone, "it cannot be used yet")
        #expect(apply(Self.address(20, [(1, Self.sixBytes)]), to: &addresses) == .init(isBack: true))
        // An address is removed and assigned again in one batch: its connections are lost nevertheless.
        let replaced = Self.address(21, [(2, [192, 0, 2, 1])]) + added
        #expect(apply(replaced, to: &addresses) == .init(lost: [one], isBack: true))
        #expect(addresses.assigned == [one, six])
        #expect(addresses.replace([six]) == .init(lost: [one], isBack: true))
    }

    @Test func carriersAndDefaultRoutesComeBack() {
        var addresses = NetworkAddresses(assigned: [])
        #expect(apply(Self.link(2, flags: 0x41), to: &addresses).isNone, "the first state of an interface is no change")
        #expect(apply(Self.link(2, flags: 0x01), to: &addresses).isNone)
        #expect(apply(Self.link(3, flags: 0x41), to: &addresses).isNone, "another interface")
        #expect(apply(Self.link(2, flags: 0x41), to: &addresses).isBack)
        // RTM_NEWROUTE is 24. The routes are a default route, one to a network, and a local one.
        let route = { (length: UInt8, kind: UInt8) in
            Self.message(24, [2, length, 0, 0, 254, 3, 0, kind] + Self.word(0))
        }
        #expect(apply(route(0, 1), to: &addresses).isBack)
        #expect(apply(route(24, 1), to: &addresses).isNone)
        #expect(apply(route(0, 2), to: &addresses).isNone)
    }

    @Test func malformedMessagesAreIgnored() throws {
        let (one, six) = (try #require(Self.one), try #require(Self.six))
        // A new address, and the removal of an assigned one.
        for good in [Self.address(20, [(2, [192, 0, 2, 1])]), Self.address(21, [(2, Self.sixBytes)])] {
            var addresses = NetworkAddresses(assigned: [six])
            for length in 0..<good.count {
                #expect(apply(Array(good.prefix(length)), to: &addresses).isNone, "\(length) bytes")
            }
            for length in [0, 3, 15, 4_000] as [UInt32] {
                #expect(apply(Self.word(length) + good.dropFirst(4), to: &addresses).isNone)
            }
            #expect(addresses.assigned == [six])
        }
        // A message with only the first bytes of an assigned address does not remove that address.
        var addresses = NetworkAddresses(assigned: [one, six])
        for part in [[192, 0, 2], Array(Self.sixBytes.dropLast())] as [[UInt8]] {
            #expect(apply(Self.address(21, [(2, part)]), to: &addresses).isNone)
        }
        #expect(addresses.assigned == [one, six])
    }

    @Test func aNewMonitorReportsNoChange() throws {
        let monitor = try #require(NetworkMonitor())
        #expect(monitor.read().isNone)
    }
}
