import Foundation
import Testing

@testable import PodcastService

struct PowerSuppliesTests {
    private let tree: PowerSupplyTree

    init() throws { tree = try PowerSupplyTree() }

    private var isOnBattery: Bool? { PowerSupplies(directory: tree.path).isOnBattery() }

    // MARK: Usual machines

    @Test func aDesktopWithoutSuppliesRunsOnMains() {
        #expect(isOnBattery == false)
    }

    @Test func withoutTheFolderThePowerSourceIsUnknown() {
        #expect(PowerSupplies(directory: tree.path + "/missing").isOnBattery() == nil)
    }

    @Test func aLaptopFollowsItsAdapter() throws {
        try tree.set("AC", ["type": "Mains", "online": "1"])
        try tree.set("BAT0", ["type": "Battery", "present": "1", "status": "Charging", "scope": "System"])
        #expect(isOnBattery == false)
        try tree.set("AC", ["online": "0"])
        try tree.set("BAT0", ["status": "Discharging"])
        #expect(isOnBattery == true)
        try tree.set("AC", ["online": "1"])
        try tree.set("BAT0", ["status": "Full"])
        #expect(isOnBattery == false)
    }

    @Test func aLaptopWithTwoBatteriesRunsOnEither() throws {
        try tree.set("AC", ["type": "Mains", "online": "0"])
        try tree.set("BAT0", ["type": "Battery", "status": "Not charging"])
        try tree.set("BAT1", ["type": "Battery", "status": "Discharging"])
        #expect(isOnBattery == true)
        try tree.set("AC", ["online": "1"])
        #expect(isOnBattery == false)
    }

    @Test(arguments: ["USB", "USB_PD", "USB_C", "Wireless", "BrickID"])
    func aLaptopPoweredByAnotherSupplyRunsOnMains(type: String) throws {
        try tree.set("AC", ["type": "Mains", "online": "0"])
        try tree.set("ucsi-source-psy-USBC000:001", ["type": type, "online": "1"])
        try tree.set("BAT0", ["type": "Battery", "status": "Charging"])
        #expect(isOnBattery == false)
    }

    @Test func aNegotiatedVoltageIsOnlineToo() throws {
        try tree.set("ucsi", ["type": "USB", "online": "2"])
        try tree.set("BAT0", ["type": "Battery", "status": "Unknown"])
        #expect(isOnBattery == false)
    }

    @Test func aDesktopWithUSBSocketsRunsOnMains() throws {
        try tree.set("ucsi-source-psy-USBC000:001", ["type": "USB", "online": "0"])
        try tree.set("ucsi-source-psy-USBC000:002", ["type": "USB", "online": "0"])
        #expect(isOnBattery == false)
    }

    @Test func aUPSCountsAsABattery() throws {
        try tree.set("ups", ["type": "UPS", "status": "Full"])
        #expect(isOnBattery == false)
        try tree.set("ups", ["status": "Discharging"])
        #expect(isOnBattery == true)
    }

    // MARK: Contradictions

    @Test func anAdapterTooWeakForTheLoadIsStillMains() throws {
        try tree.set("AC", ["type": "Mains", "online": "1"])
        try tree.set("BAT0", ["type": "Battery", "status": "Discharging"])
        #expect(isOnBattery == false)
    }

    @Test func aUSBPortThatPowersAPhoneIsNoPowerSource() throws {
        try tree.set("AC", ["type": "Mains", "online": "0"])
        try tree.set("ucsi", ["type": "USB", "online": "1"])
        try tree.set("BAT0", ["type": "Battery", "status": "Discharging"])
        #expect(isOnBattery == true)
    }

    @Test func aPulledPlugCountsBeforeTheBatteryReports() throws {
        try tree.set("AC", ["type": "Mains", "online": "0"])
        try tree.set("BAT0", ["type": "Battery", "status": "Unknown"])
        #expect(isOnBattery == true)
    }

    @Test func aChargingBatteryMeansMainsEvenIfNoSupplyIsOnline() throws {
        try tree.set("AC", ["type": "Mains", "online": "0"])
        try tree.set("BAT0", ["type": "Battery", "status": "Charging"])
        #expect(isOnBattery == false)
    }

    // MARK: Ignored supplies

    @Test func theBatteryOfAMouseDoesNotCount() throws {
        try tree.set("hidpp_battery_0", ["type": "Battery", "scope": "Device", "status": "Discharging"])
        #expect(isOnBattery == false)
    }

    @Test func anEmptyBayDoesNotCount() throws {
        try tree.set("AC", ["type": "Mains", "online": "0"])
        try tree.set("BAT1", ["type": "Battery", "present": "0", "status": "Unknown"])
        #expect(isOnBattery == false)
    }

    @Test func suppliesThatCannotBeReadDoNotCount() throws {
        try tree.set("half", [:])
        try tree.set("odd", ["type": "Perpetuum mobile", "online": "0", "status": "Discharging"])
        try tree.set("silent", ["type": "Mains"])
        try tree.set("empty", ["type": ""])
        #expect(isOnBattery == false)
        try tree.set("BAT0", ["type": "Battery", "status": "Discharging"])
        #expect(isOnBattery == true)
    }
}
