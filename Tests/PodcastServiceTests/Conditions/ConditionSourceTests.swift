import Foundation
import TestSupport
import Testing

@testable import PodcastService

/// The link and power conditions without a D-Bus daemon. The power supplies are simulated, or those of this machine.
struct ConditionSourceTests {
    private let tree: PowerSupplyTree
    private let folder: TemporaryDirectory

    init() throws {
        tree = try PowerSupplyTree()
        folder = try TemporaryDirectory()
    }

    @Test(arguments: [nil, "", "nonsense", "unix:path=/dev/null", "tcp:host=256.0.0.1,port=1"] as [String?])
    func withoutABusTheLinkIsUnknownAndPowerIsKnown(address: String?) async throws {
        try tree.set("AC", ["type": "Mains", "online": "1"])
        let source = ConditionSource.system(
            powerSupplies: tree.path, busAddress: address ?? PrivateBus.address(in: folder))
        #expect(await source.readInBackground() == LinkConditions(isMetered: nil, isOnBattery: false))
        try tree.set("AC", ["online": "0"])
        try tree.set("BAT0", ["type": "Battery", "status": "Discharging"])
        #expect(await source.readInBackground() == LinkConditions(isMetered: nil, isOnBattery: true))
    }

    @Test func thePowerSourceOfThisMachineIsRead() {
        // No bus listens at this address: tests must not use the system's bus.
        let source = ConditionSource.system(busAddress: PrivateBus.address(in: folder))
        #expect(source.read().isOnBattery == PowerSupplies().isOnBattery())
    }
}

/// Whether the link is metered, as reported by a simulated NetworkManager on a private bus.
@Suite(.enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed (package dbus-daemon)"))
struct NetworkManagerTests {
    private let folder: TemporaryDirectory
    private let bus: PrivateBus

    init() async throws {
        folder = try TemporaryDirectory()
        bus = try await PrivateBus(in: folder)
    }

    @Test func eachReadingReportsNetworkManagersCurrentValue() throws {
        #expect(NetworkManager.isMetered(address: bus.address) == nil)
        let manager = try FakeNetworkManager(on: bus.address, metered: 0)
        for (value, isMetered) in [(0, nil), (1, true), (2, false), (3, true), (4, false), (5, nil)]
            as [(UInt32, Bool?)]
        {
            manager.set(value)
            #expect(NetworkManager.isMetered(address: bus.address) == isMetered)
        }
        #expect(manager.questions == 6)
        manager.stop()
        #expect(NetworkManager.isMetered(address: bus.address) == nil)
    }
}
