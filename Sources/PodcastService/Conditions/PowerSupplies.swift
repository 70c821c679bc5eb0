internal import Foundation

/// The power supplies in sysfs. Each supply is a folder with one text file per property.
///
/// See Documentation/ABI/testing/sysfs-class-power of the kernel.
struct PowerSupplies: Sendable {
    static let standardDirectory = "/sys/class/power_supply"

    var directory = Self.standardDirectory

    /// Returns whether the machine runs on battery; `nil` if the folder cannot be read.
    ///
    /// Reads a few small files. A read of a battery's file may take some milliseconds, until the battery answers.
    func isOnBattery() -> Bool? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return nil }
        return Self.isOnBattery(names.sorted().compactMap(supply))
    }

    enum Kind: Sendable, Equatable {
        /// A mains adapter, whose state is reliable.
        case mains
        /// Power through USB, a wireless pad and similar. A USB port may report "online" while it powers another
        /// device.
        case socket
        /// A battery or a UPS.
        case battery
    }

    enum Status: Sendable, Equatable {
        case discharging
        /// Charging, full, or prevented from charging: external power is present.
        case fed
        case unknown
    }

    struct Supply: Sendable, Equatable {
        var kind: Kind
        var isOnline: Bool?
        var status: Status
    }

    /// Returns whether the machine runs on battery, judging by all supplies.
    ///
    /// Uses the first of these rules that applies:
    /// - A mains adapter is online: mains, even if a battery discharges, as it does under a load above the adapter's
    ///   rating.
    /// - A battery discharges: battery.
    /// - Another source is online: mains. The battery is checked first, because some sources report "online" while they
    ///   supply power to a device.
    /// - A source is offline, and the machine has batteries whose states are all unknown: battery.
    /// - Otherwise, and so for any machine without a battery: mains.
    static func isOnBattery(_ supplies: [Supply]) -> Bool {
        let batteries = supplies.filter { $0.kind == .battery }
        let sources = supplies.filter { $0.kind != .battery }
        if sources.contains(where: { $0.kind == .mains && $0.isOnline == true }) { return false }
        if batteries.contains(where: { $0.status == .discharging }) { return true }
        if sources.contains(where: { $0.isOnline == true }) { return false }
        // An offline source decides only while no battery reports its state, such as just after unplugging. If a
        // battery reports external power, that power comes from a source that sysfs does not list.
        let isUnplugged = sources.contains { $0.isOnline == false }
        return isUnplugged && !batteries.isEmpty && batteries.allSatisfy { $0.status == .unknown }
    }

    /// Reads one supply; `nil` for the supply of an attached device (mouse, headset), for an empty bay, and for a
    /// supply of unknown type.
    private func supply(_ name: String) -> Supply? {
        guard property("scope", of: name) != "Device", property("present", of: name) != "0",
            let type = property("type", of: name)
        else { return nil }
        let kind: Kind
        switch type {
        case "Battery", "UPS": kind = .battery
        case "Mains": kind = .mains
        // "USB", and in older kernels "USB_PD", "USB_C", "USB_DCP" and others; "BrickID" is Apple's.
        case "Wireless", "BrickID": kind = .socket
        case _ where type.hasPrefix("USB"): kind = .socket
        default: return nil
        }
        // 1 means online at a fixed voltage, 2 at a negotiated one (USB).
        let isOnline = property("online", of: name).flatMap { Int($0) }.map { $0 > 0 }
        let status: Status =
            switch property("status", of: name) {
            case "Discharging": .discharging
            case "Charging", "Full", "Not charging": .fed
            default: .unknown
            }
        return Supply(kind: kind, isOnline: isOnline, status: status)
    }

    /// Returns the text of a property; `nil` if it is missing, empty or unreadable, for example because the battery was
    /// just removed.
    private func property(_ property: String, of name: String) -> String? {
        guard let data = FileManager.default.contents(atPath: "\(directory)/\(name)/\(property)") else { return nil }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
