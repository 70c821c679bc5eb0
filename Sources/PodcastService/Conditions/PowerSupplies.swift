internal import Foundation

/// The power supplies as the kernel shows them: one folder each, with a file for each property, all of them text.
///
/// See Documentation/ABI/testing/sysfs-class-power of the kernel.
struct PowerSupplies: Sendable {
    static let standardDirectory = "/sys/class/power_supply"

    var directory = Self.standardDirectory

    /// Whether the machine draws on a battery of its own; `nil` when the kernel does not say.
    ///
    /// Reads a few small files; a battery may take some milliseconds to answer.
    func isOnBattery() -> Bool? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return nil }
        return Self.isOnBattery(names.sorted().compactMap(supply))
    }

    enum Kind: Sendable, Equatable {
        /// A classic adapter. What it says of itself is certain.
        case mains
        /// Power by a USB socket, from a pad, and the like. A socket may call itself online too while it powers
        /// another device.
        case socket
        /// A battery or a UPS.
        case battery
    }

    enum Status: Sendable, Equatable {
        case discharging
        /// Charging, full, or kept from charging: fed by something.
        case fed
        case unknown
    }

    struct Supply: Sendable, Equatable {
        var kind: Kind
        var isOnline: Bool?
        var status: Status
    }

    /// Which of the supplies feeds the machine.
    ///
    /// An adapter that is online settles it, even when a battery discharges beside it, as under a load that is too much
    /// for the adapter. Then a battery that discharges. Only then other sockets: some report "online" while it is they
    /// who give power. A machine without a battery runs on mains whatever its sockets say.
    static func isOnBattery(_ supplies: [Supply]) -> Bool {
        let batteries = supplies.filter { $0.kind == .battery }
        let sources = supplies.filter { $0.kind != .battery }
        if sources.contains(where: { $0.kind == .mains && $0.isOnline == true }) { return false }
        if batteries.contains(where: { $0.status == .discharging }) { return true }
        if sources.contains(where: { $0.isOnline == true }) { return false }
        // Between the pulled plug and the battery's next report. A battery that is fed knows of a source that is not
        // listed here.
        let isUnplugged = sources.contains { $0.isOnline == false }
        return isUnplugged && !batteries.isEmpty && batteries.allSatisfy { $0.status == .unknown }
    }

    /// One supply; `nil` for those of attached devices (mice, headsets), empty bays and kinds that say nothing.
    private func supply(_ name: String) -> Supply? {
        guard property("scope", of: name) != "Device", property("present", of: name) != "0",
            let type = property("type", of: name)
        else { return nil }
        let kind: Kind
        switch type {
        case "Battery", "UPS": kind = .battery
        case "Mains": kind = .mains
        // "USB", and older kernels' "USB_PD", "USB_C", "USB_DCP" and so on; "BrickID" is Apple's.
        case "Wireless", "BrickID": kind = .socket
        case _ where type.hasPrefix("USB"): kind = .socket
        default: return nil
        }
        // 1 is online at a fixed voltage, 2 at one that is negotiated (USB).
        let isOnline = property("online", of: name).flatMap { Int($0) }.map { $0 > 0 }
        let status: Status =
            switch property("status", of: name) {
            case "Discharging": .discharging
            case "Charging", "Full", "Not charging": .fed
            default: .unknown
            }
        return Supply(kind: kind, isOnline: isOnline, status: status)
    }

    /// The text of a property; `nil` when it is missing or, as that of a battery just taken out, cannot be read.
    private func property(_ property: String, of name: String) -> String? {
        guard let data = FileManager.default.contents(atPath: "\(directory)/\(name)/\(property)") else { return nil }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
