internal import CSystemd

/// NetworkManager's property `Metered`, read over D-Bus with sd-bus(3).
///
/// Never starts NetworkManager: where it does not run, the value is unknown.
enum NetworkManager {
    private static let name = "org.freedesktop.NetworkManager"

    /// Timeout of the method call in microseconds. NetworkManager normally replies in less than a millisecond.
    private static let callTimeout: UInt64 = 5_000_000

    /// Returns whether the link is metered; `nil` if unknown. Blocks for the exchange with the bus.
    ///
    /// - Parameter address: the address of the bus; `nil` means `DBUS_SYSTEM_BUS_ADDRESS`, or the standard socket.
    static func isMetered(address: String?) -> Bool? {
        guard let bus = open(address) else { return nil }
        defer { sd_bus_flush_close_unref(bus) }
        return metered(bus).flatMap(isMetered)
    }

    /// Converts a value of `NMMetered`: 0 unknown, 1 yes, 2 no, 3 guessed yes, 4 guessed no. NetworkManager guesses by
    /// the kind of link. It guesses, for example, that a phone's hotspot is metered.
    static func isMetered(_ value: UInt32) -> Bool? {
        switch value {
        case 1, 3: true
        case 2, 4: false
        default: nil
        }
    }

    private static func open(_ address: String?) -> OpaquePointer? {
        var bus: OpaquePointer?
        if let address {
            guard sd_bus_new(&bus) >= 0 else { return nil }
            guard sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0
            else {
                sd_bus_close_unref(bus)
                return nil
            }
        } else if sd_bus_open_system(&bus) < 0 {
            return nil
        }
        sd_bus_set_method_call_timeout(bus, callTimeout)
        return bus
    }

    private static func metered(_ bus: OpaquePointer) -> UInt32? {
        var call: OpaquePointer?
        var reply: OpaquePointer?
        defer {
            sd_bus_message_unref(call)
            sd_bus_message_unref(reply)
        }
        // D-Bus's type codes, see sd_bus_message_append(3).
        let (string, unsigned, variant) = (code("s"), code("u"), code("v"))
        var value: UInt32 = 0
        guard
            sd_bus_message_new_method_call(
                bus, &call, name, "/org/freedesktop/NetworkManager", "org.freedesktop.DBus.Properties", "Get") >= 0,
            sd_bus_message_set_auto_start(call, 0) >= 0, sd_bus_message_append_basic(call, string, name) >= 0,
            sd_bus_message_append_basic(call, string, "Metered") >= 0,
            sd_bus_call(bus, call, callTimeout, nil, &reply) >= 0,
            sd_bus_message_enter_container(reply, variant, "u") > 0,
            sd_bus_message_read_basic(reply, unsigned, &value) > 0
        else { return nil }
        return value
    }

    private static func code(_ character: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: character.value) }
}
