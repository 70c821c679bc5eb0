import CLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import PodcastService

/// The monitor with simulated power supplies and events, and with a bus that does not exist.
struct ConditionMonitorTests {
    private let tree: PowerSupplyTree
    private let folder: TemporaryDirectory
    /// The test's end of the socket that replaces the kernel's.
    private let kernel: Int32
    private let options: ConditionMonitor.Options

    init() throws {
        tree = try PowerSupplyTree()
        folder = try TemporaryDirectory()
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        kernel = ends[1]
        var options = ConditionMonitor.Options()
        options.powerSupplies = tree.path
        options.busAddress = PrivateBus.address(in: folder)
        options.powerEvents = ends[0]
        self.options = options
    }

    private func announce(_ subsystem: String = "power_supply") {
        let event = "change@/devices/x\0ACTION=change\0SUBSYSTEM=\(subsystem)\0"
        #expect(event.utf8.withContiguousStorageIfAvailable { send(kernel, $0.baseAddress, $0.count, 0) } ?? 0 > 0)
    }

    @Test func withoutABusTheLinkIsUnknownAndPowerIsKnown() async throws {
        defer { close(kernel) }
        try tree.set("AC", ["type": "Mains", "online": "1"])
        let source = ConditionSource.system(options)
        let first = try await change(in: source.changes()) { _ in true }
        #expect(first == LinkConditions(isMetered: nil, isOnBattery: false))
        #expect(source.current() == first)
    }

    @Test(arguments: ["", "nonsense", "unix:path=/dev/null", "tcp:host=256.0.0.1,port=1"])
    func anAddressThatLeadsNowhereIsUnknown(address: String) async throws {
        defer { close(kernel) }
        var options = options
        options.busAddress = address
        let source = ConditionSource.system(options)
        let first = try await change(in: source.changes()) { _ in true }
        #expect(first == LinkConditions(isMetered: nil, isOnBattery: false))
    }

    @Test func aBusThatSaysNothingDoesNotHoldUpTheFirstReadingForGood() async throws {
        defer { close(kernel) }
        let silent = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(silent) }
        var address = sockaddr_un()
        var length: socklen_t = 0
        try #require(clinux_unix_address(folder.file("bus"), &address, &length) == 0)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(silent, $0, length) }
        }
        // The kernel accepts connections, but nobody answers on them.
        try #require(bound == 0 && listen(silent, 8) == 0)
        var options = options
        options.patience = .milliseconds(50)
        let source = ConditionSource.system(options)
        let first = try await change(in: source.changes()) { _ in true }
        #expect(first == LinkConditions(isMetered: nil, isOnBattery: false))
        // Power supplies are monitored nevertheless.
        let stream = source.changes()
        try tree.set("BAT0", ["type": "Battery", "status": "Discharging"])
        announce()
        _ = try await change(in: stream) { $0.isOnBattery == true }
    }

    @Test func aPulledPlugIsToldToEveryListener() async throws {
        defer { close(kernel) }
        try tree.set("AC", ["type": "Mains", "online": "1"])
        try tree.set("BAT0", ["type": "Battery", "status": "Charging"])
        let source = ConditionSource.system(options)
        let streams = [source.changes(), source.changes()]
        for stream in streams { #expect(try await change(in: stream) { _ in true }.isOnBattery == false) }
        try tree.set("AC", ["online": "0"])
        try tree.set("BAT0", ["status": "Discharging"])
        announce("usb")
        announce()
        for stream in streams { _ = try await change(in: stream) { $0.isOnBattery == true } }
        #expect(source.current()?.isOnBattery == true)
        try tree.set("AC", ["online": "1"])
        announce()
        for stream in streams { _ = try await change(in: stream) { $0.isOnBattery == false } }
    }

    @Test func aSlowListenerGetsTheLastState() async throws {
        defer { close(kernel) }
        try tree.set("BAT0", ["type": "Battery", "status": "Full"])
        let source = ConditionSource.system(options)
        let slow = source.changes()
        let quick = source.changes()
        _ = try await change(in: quick) { $0.isOnBattery == false }
        for status in ["Discharging", "Full", "Discharging"] {
            try tree.set("BAT0", ["status": status])
            announce()
            _ = try await change(in: quick) { $0.isOnBattery == (status == "Discharging") }
        }
        // The fast reader may have been served first, but the last state delivered is never an older one.
        #expect(try await change(in: slow) { $0.isOnBattery == true }.isOnBattery == true)
    }

    @Test func theThreadEndsWithTheSourceAndTakesStreamsAndSocketsAlong() async throws {
        defer { close(kernel) }
        var source: ConditionSource? = ConditionSource.system(options)
        let stream = try #require(source).changes()
        _ = try await change(in: stream) { _ in true }
        source = nil
        // The stream ends...
        for await _ in stream {}
        // ... and the socket is closed: its other end reads end of file.
        let kernel = kernel
        try await waitUntil(description: "the monitor closes its socket") {
            var byte: UInt8 = 0
            return recv(kernel, &byte, 1, Int32(MSG_DONTWAIT)) == 0
        }
    }

    @Test func aListenerMayLeave() async throws {
        defer { close(kernel) }
        try tree.set("BAT0", ["type": "Battery", "status": "Full"])
        let source = ConditionSource.system(options)
        let stream = source.changes()
        let listener = Task { for await _ in stream {} }
        _ = try await change(in: source.changes()) { _ in true }
        listener.cancel()
        await listener.value
        try tree.set("BAT0", ["status": "Discharging"])
        let other = source.changes()
        announce()
        _ = try await change(in: other) { $0.isOnBattery == true }
    }

    @Test func thisMachineCanBeAsked() async throws {
        close(kernel)
        close(try #require(options.powerEvents))
        var options = ConditionMonitor.Options()
        // Without a bus: tests must not use the system's.
        options.busAddress = PrivateBus.address(in: folder)
        let source = ConditionSource.system(options)
        let first = try await change(in: source.changes()) { _ in true }
        #expect(first.isOnBattery == PowerSupplies().isOnBattery())
    }
}
