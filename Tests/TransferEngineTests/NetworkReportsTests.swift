import Testing

@testable import Transfers

/// Parsing of the kernel's messages about addresses, interfaces and routes (rtnetlink(7)), which are built here byte by
/// byte.
struct NetworkReportsTests {
    private static func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
    private static func half(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    private static func message(_ type: UInt16, _ body: [UInt8]) -> [UInt8] {
        let bytes = word(UInt32(16 + body.count)) + half(type) + half(0) + word(0) + word(0) + body
        return bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
    }

    /// Returns a message about an address. RTM_NEWADDR is 20, RTM_DELADDR 21.
    private static func address(_ type: UInt16, flags: UInt8 = 0) -> [UInt8] {
        message(type, [2, 24, flags, 0] + word(2) + half(8) + half(2) + [192, 0, 2, 1])
    }

    /// Returns an RTM_NEWLINK (16). With the flag 0x40 (IFF_RUNNING) the interface has a carrier.
    private static func link(_ index: UInt32, flags: UInt32) -> [UInt8] {
        message(16, [0, 0] + half(1) + word(index) + word(flags) + word(0))
    }

    /// Returns an RTM_NEWROUTE (24).
    private static func route(_ prefixLength: UInt8, kind: UInt8) -> [UInt8] {
        message(24, [2, prefixLength, 0, 0, 254, 3, 0, kind] + word(0))
    }

    private func apply(_ messages: [UInt8], to reports: inout NetworkReports) -> [Bool] {
        let (changesAddresses, isBack) = messages.withUnsafeBytes { reports.apply($0) }
        return [changesAddresses, isBack]
    }

    @Test func eachMessageHasItsEffect() {
        var reports = NetworkReports()
        #expect(apply(Self.address(20), to: &reports) == [true, false])
        #expect(apply(Self.address(20, flags: 0x40), to: &reports) == [false, false], "it cannot be used yet")
        #expect(apply(Self.address(21), to: &reports) == [true, false])
        let first = Self.link(2, flags: 0x41)
        #expect(apply(first, to: &reports) == [false, false], "the first state of an interface is no change")
        #expect(apply(Self.link(2, flags: 0x01), to: &reports) == [false, false])
        #expect(apply(Self.link(3, flags: 0x41), to: &reports) == [false, false], "another interface")
        #expect(apply(Self.address(20) + Self.link(2, flags: 0x41), to: &reports) == [true, true])
        // A default route, one to a network, and a local one.
        #expect(apply(Self.route(0, kind: 1), to: &reports) == [false, true])
        #expect(apply(Self.route(24, kind: 1) + Self.route(0, kind: 2), to: &reports) == [false, false])
    }

    @Test func malformedMessagesAreIgnored() {
        let good = Self.address(21)
        var reports = NetworkReports()
        for length in 0..<good.count { #expect(apply(Array(good.prefix(length)), to: &reports) == [false, false]) }
        for length in [0, 3, 15, 4_000] as [UInt32] {
            #expect(apply(Self.word(length) + good.dropFirst(4), to: &reports) == [false, false])
        }
    }

    @Test func aNewMonitorReportsNoChange() throws {
        let monitor = try #require(NetworkMonitor())
        #expect(monitor.read().isNone)
    }
}
