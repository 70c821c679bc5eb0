internal import CSystemd
internal import Foundation

/// The present cost of a transfer: whether the link is metered and whether the machine is on battery.
///
/// Only discretionary (automatic) tasks wait for an unmetered link and for mains power. Reads and requests by a person
/// never do.
package struct LinkConditions: Sendable, Equatable {
    /// Whether the link is metered; `nil` if unknown.
    var isMetered: Bool?
    /// Whether the machine runs on battery; `nil` if unknown.
    var isOnBattery: Bool?

    /// Returns the conditions of this machine: power from the kernel, the link from NetworkManager. The call normally
    /// blocks for a millisecond, but for 90 s (BUS_AUTH_TIMEOUT of sd-bus) if the bus accepts the connection and does
    /// not authenticate it.
    ///
    /// A condition that cannot be read (no bus, no NetworkManager, no sysfs) is unknown. This is not logged, because it
    /// is normal on servers and in containers.
    ///
    /// - Parameters:
    ///   - powerSupplies: the sysfs directory of the power supplies.
    ///   - busAddress: the address of NetworkManager's bus; `nil` means the system bus.
    package static func current(
        powerSupplies: String = "/sys/class/power_supply", busAddress: String? = nil
    ) -> LinkConditions {
        LinkConditions(
            isMetered: NetworkManager.isMetered(address: busAddress),
            isOnBattery: PowerSupplies.isOnBattery(powerSupplies))
    }

    /// Returns whether discretionary tasks may run.
    ///
    /// Unknown conditions allow discretionary tasks. Without NetworkManager or a bus, as on servers, in containers and
    /// on wired desktops, it is unknown whether the link is metered. The link of such a machine is hardly ever metered,
    /// and a task that waited for a known state would wait for ever.
    ///
    /// - Parameters:
    ///   - allowMetered: Whether they may run on a metered link (setting `discretionary.allow_metered`).
    ///   - allowBattery: Whether they may run on battery power (setting `discretionary.allow_battery`).
    func allowsDiscretionary(allowMetered: Bool, allowBattery: Bool) -> Bool {
        (allowMetered || isMetered != true) && (allowBattery || isOnBattery != true)
    }
}

/// NetworkManager's property `Metered`, read over D-Bus with sd-bus(3).
enum NetworkManager {
    private static let name = "org.freedesktop.NetworkManager"

    /// Timeout of a method call in microseconds. NetworkManager normally replies in less than a millisecond.
    private static let callTimeout: UInt64 = 5_000_000

    /// Returns whether the link is metered; `nil` if unknown. Blocks for the exchange with the bus. Never starts
    /// NetworkManager: where it does not run, the value is unknown.
    ///
    /// - Parameter address: the address of the bus; `nil` means `DBUS_SYSTEM_BUS_ADDRESS`, or the standard socket.
    static func isMetered(address: String?) -> Bool? {
        var bus: OpaquePointer?
        defer { sd_bus_flush_close_unref(bus) }
        if let address {
            guard sd_bus_new(&bus) >= 0, sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0,
                sd_bus_start(bus) >= 0
            else { return nil }
        } else if sd_bus_open_system(&bus) < 0 {
            return nil
        }
        sd_bus_set_method_call_timeout(bus, callTimeout)
        var value: UInt32 = 0
        // A request for the property would start NetworkManager, so look for its owner first.
        guard sd_bus_get_name_creds(bus, name, 0, nil) >= 0,
            sd_bus_get_property_trivial(
                bus, name, "/org/freedesktop/NetworkManager", name, "Metered", nil, CChar(UInt8(ascii: "u")), &value)
                >= 0
        else { return nil }
        // `NMMetered`: 0 unknown, 1 yes, 2 no, 3 guessed yes, 4 guessed no. NetworkManager guesses by the kind of link,
        // for example that a phone's hotspot is metered.
        return [1: true, 3: true, 2: false, 4: false][value]
    }
}

/// The power supplies in sysfs. Each supply is a folder with one text file per property.
///
/// See Documentation/ABI/testing/sysfs-class-power of the kernel.
enum PowerSupplies {
    /// Returns whether the machine runs on battery; `nil` if the folder cannot be read.
    ///
    /// Judges as systemd does for ConditionACPower: a battery discharges, and no mains adapter is online. If one is, a
    /// battery may discharge under a load above the adapter's rating. USB ports do not count: one may report "online"
    /// while it powers another device. Neither do the batteries of devices, such as a mouse.
    ///
    /// Reads a few small files. A read of a battery's file may take some milliseconds, until the battery answers.
    static func isOnBattery(_ directory: String) -> Bool? {
        func property(_ property: String, of name: String) -> String? {
            FileManager.default.contents(atPath: "\(directory)/\(name)/\(property)")
                .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return nil }
        var isDischarging = false
        for name in names where property("scope", of: name) != "Device" {
            switch property("type", of: name) {
            case "Mains": if property("online", of: name) == "1" { return false }
            case "Battery", "UPS": if property("status", of: name) == "Discharging" { isDischarging = true }
            default: break
            }
        }
        return isDischarging
    }
}
