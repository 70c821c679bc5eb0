import TestSupport
import Testing

@testable import PodcastService

struct LinkConditionsTests {
    @Test(arguments: [nil, false, true] as [Bool?], [nil, false, true] as [Bool?])
    func knownConditionsBlockDiscretionaryWorkUnlessAllowed(isMetered: Bool?, isOnBattery: Bool?) {
        let conditions = LinkConditions(isMetered: isMetered, isOnBattery: isOnBattery)
        func allows(metered: Bool, battery: Bool) -> Bool {
            conditions.allowsDiscretionary(allowMetered: metered, allowBattery: battery)
        }
        #expect(allows(metered: true, battery: true))
        #expect(allows(metered: false, battery: true) == (isMetered != true))
        #expect(allows(metered: true, battery: false) == (isOnBattery != true))
        #expect(allows(metered: false, battery: false) == (isMetered != true && isOnBattery != true))
    }
}

/// The link and power conditions without a D-Bus daemon. The power supplies are a folder with the shape of
/// `/sys/class/power_supply`.
struct PresentConditionsTests {
    private let folder: TemporaryDirectory
    private let supplies: String

    init() throws {
        folder = try TemporaryDirectory()
        supplies = try folder.makeDirectory("power_supply")
    }

    /// Adds a supply with properties such as `type=Mains;online=1`. As in sysfs, every value ends with a newline.
    private func add(_ name: String, _ properties: some StringProtocol) throws {
        try folder.makeDirectory("power_supply/\(name)")
        for property in properties.split(separator: ";") {
            let parts = property.split(separator: "=", omittingEmptySubsequences: false)
            try folder.write("power_supply/\(name)/\(parts[0])", text: parts[1] + "\n")
        }
    }

    @Test(arguments: [nil, "", "nonsense", "unix:path=/dev/null", "tcp:host=256.0.0.1,port=1"] as [String?])
    func withoutABusTheLinkIsUnknownAndPowerIsKnown(address: String?) throws {
        func conditions() -> LinkConditions {
            .current(powerSupplies: supplies, busAddress: address ?? PrivateBus.address(in: folder))
        }
        #expect(conditions() == LinkConditions(isMetered: nil, isOnBattery: false))
        try add("BAT0", "type=Battery;status=Discharging")
        #expect(conditions() == LinkConditions(isMetered: nil, isOnBattery: true))
    }

    @Test func withoutTheFolderThePowerSourceIsUnknown() { #expect(PowerSupplies.isOnBattery(supplies + "/no") == nil) }

    @Test(arguments: [
        ("type=Mains;online=1,type=Battery;status=Charging;scope=System", false),
        ("type=Mains;online=0,type=Battery;status=Discharging", true),
        ("type=Mains;online=0,type=Battery;status=Not charging,type=Battery;status=Discharging", true),
        // An adapter that is too weak for the load.
        ("type=Mains;online=1,type=Battery;status=Discharging", false),
        // Power through USB: the battery shows it.
        ("type=USB;online=1,type=Battery;status=Charging", false),
        // A USB port that powers a phone.
        ("type=USB;online=1,type=Battery;status=Discharging", true), ("type=USB;online=0", false),
        ("type=UPS;status=Full", false), ("type=UPS;status=Discharging", true),
        // The battery of a mouse, and supplies that cannot be read.
        ("type=Battery;scope=Device;status=Discharging", false),
        (",type=Perpetuum mobile;status=Discharging,type=Mains,type=", false),
    ])
    func aDischargingBatteryCountsUnlessTheMainsAreOnline(all: String, isOnBattery: Bool) throws {
        for (number, properties) in all.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            try add("supply\(number)", properties)
        }
        #expect(PowerSupplies.isOnBattery(supplies) == isOnBattery)
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
        let metered = Journal<UInt32>()
        let manager = try BusObject(
            "/org/freedesktop/NetworkManager", names: ["org.freedesktop.NetworkManager"], on: bus.address
        ) { call in
            guard call.calls("org.freedesktop.DBus.Properties", "Get") else { return nil }
            call.reply { reply in reply.variant("u") { $0.append(metered.entries.last ?? 0) } }
            return []
        }
        for (value, isMetered) in [(0, nil), (1, true), (2, false), (3, true), (4, false), (5, nil)]
            as [(UInt32, Bool?)]
        {
            metered.append(value)
            #expect(NetworkManager.isMetered(address: bus.address) == isMetered)
        }
        manager.stop()
        #expect(NetworkManager.isMetered(address: bus.address) == nil)
    }
}
