internal import CSystemd

/// NetworkManager's property `Metered`, read over D-Bus with sd-bus(3).
///
/// Opens one connection, subscribes to changes of the property, reads it once, and then only listens. Subscribing first
/// guarantees that no change is missed, because a bus handles messages in order. Never starts NetworkManager: where it
/// does not run, the value is unknown.
///
/// Confined to one thread, as sd-bus requires.
final class NetworkManagerLink {
    private static let name = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"
    private static let properties = "org.freedesktop.DBus.Properties"

    /// Timeout for NetworkManager's answer in microseconds. It normally answers in less than a millisecond.
    private static let callTimeout: UInt64 = 5_000_000

    /// D-Bus's type codes, see sd_bus_message_append(3).
    private enum Code {
        static let string = code("s")
        static let unsigned = code("u")
        static let array = code("a")
        static let variant = code("v")
        static let entry = code("e")

        private static func code(_ character: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: character.value) }
    }

    private let address: String?
    /// The `sd_bus` while connected or connecting.
    private var bus: OpaquePointer?

    /// Whether the link is metered; `nil` if unknown.
    private(set) var isMetered: Bool?
    /// Whether NetworkManager has answered, or is known to be unavailable.
    private(set) var isSettled = false

    /// - Parameter address: in the format of `DBUS_SYSTEM_BUS_ADDRESS`; `nil` means that variable, or the standard
    ///   socket.
    init(address: String?) { self.address = address }

    deinit { sd_bus_close_unref(bus) }

    var isConnected: Bool { bus != nil }

    /// Connects to the bus and requests the property, unless connected already. `process` handles the answer.
    ///
    /// - Returns: `false` if there is no usable bus.
    func connect() -> Bool {
        if bus != nil { return true }
        bus = open()
        guard bus != nil, subscribe(), ask() else {
            disconnect()
            return false
        }
        return true
    }

    /// Handles received messages and timeouts.
    ///
    /// - Returns: `false` if the connection was lost; it is then closed.
    func process() -> Bool {
        guard let bus else { return false }
        while true {
            let result = sd_bus_process(bus, nil)
            if result == 0 { return true }
            if result < 0 {
                disconnect()
                return false
            }
        }
    }

    /// The descriptor to poll.
    var descriptor: Int32 { bus.map { sd_bus_get_fd($0) } ?? -1 }
    var events: Int16 { bus.map { Int16(truncatingIfNeeded: sd_bus_get_events($0)) } ?? 0 }

    /// When `process` has to be called at the latest, in microseconds of CLOCK_MONOTONIC; `nil` if nothing is due.
    var deadline: UInt64? {
        var time: UInt64 = 0
        guard let bus, sd_bus_get_timeout(bus, &time) >= 0, time != .max else { return nil }
        return time
    }

    private func disconnect() {
        sd_bus_close_unref(bus)
        bus = nil
        settle(nil)
    }

    private func settle(_ value: UInt32?) {
        isMetered = value.flatMap(Self.isMetered)
        isSettled = true
    }

    /// Converts a value of `NMMetered`: unknown, yes, no, and NetworkManager's guesses for both by the kind of link (it
    /// guesses that a phone's hotspot is metered).
    static func isMetered(_ value: UInt32) -> Bool? {
        switch value {
        case 1, 3: true
        case 2, 4: false
        default: nil
        }
    }

    // MARK: Messages

    private func open() -> OpaquePointer? {
        var bus: OpaquePointer?
        guard let address else { return sd_bus_open_system(&bus) >= 0 ? bus : nil }
        guard sd_bus_new(&bus) >= 0 else { return nil }
        guard sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0 else {
            sd_bus_close_unref(bus)
            return nil
        }
        return bus
    }

    /// The pointer to `self` in the subscriptions, which are removed with the connection.
    private var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func link(_ pointer: UnsafeMutableRawPointer?) -> NetworkManagerLink? {
        pointer.map { Unmanaged<NetworkManagerLink>.fromOpaque($0).takeUnretainedValue() }
    }

    private func subscribe() -> Bool {
        let changed =
            "type='signal',sender='\(Self.name)',path='\(Self.path)',interface='\(Self.properties)',"
            + "member='PropertiesChanged',arg0='\(Self.name)'"
        let owner =
            "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
            + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'"
        return sd_bus_add_match_async(
            bus, nil, changed,
            { message, pointer, _ in
                NetworkManagerLink.link(pointer)?.propertiesChanged(message)
                return 0
            }, nil, pointer) >= 0
            && sd_bus_add_match_async(
                bus, nil, owner,
                { message, pointer, _ in
                    NetworkManagerLink.link(pointer)?.ownerChanged(message)
                    return 0
                }, nil, pointer) >= 0
    }

    /// Requests the property's value. Returns `false` if the call cannot be sent.
    @discardableResult
    private func ask() -> Bool {
        var call: OpaquePointer?
        guard sd_bus_message_new_method_call(bus, &call, Self.name, Self.path, Self.properties, "Get") >= 0 else {
            return false
        }
        defer { sd_bus_message_unref(call) }
        guard sd_bus_message_set_auto_start(call, 0) >= 0,
            sd_bus_message_append_basic(call, Code.string, Self.name) >= 0,
            sd_bus_message_append_basic(call, Code.string, "Metered") >= 0
        else { return false }
        return sd_bus_call_async(
            bus, nil, call,
            { reply, pointer, _ in
                NetworkManagerLink.link(pointer)?.answered(reply)
                return 0
            }, pointer, Self.callTimeout) >= 0
    }

    /// Handles the answer, which may be an error: NetworkManager does not run, refuses, or has not answered in time.
    private func answered(_ reply: OpaquePointer?) {
        settle(sd_bus_message_is_method_error(reply, nil) == 0 ? readVariant(reply) : nil)
    }

    /// Handles `PropertiesChanged(s interface, a{sv} values, as invalidated)`.
    private func propertiesChanged(_ message: OpaquePointer?) {
        guard sd_bus_message_skip(message, "s") >= 0,
            sd_bus_message_enter_container(message, Code.array, "{sv}") >= 0
        else { return }
        while sd_bus_message_enter_container(message, Code.entry, "sv") > 0 {
            if readString(message) == "Metered" {
                settle(readVariant(message))
                return
            }
            guard sd_bus_message_skip(message, "v") >= 0, sd_bus_message_exit_container(message) >= 0 else { return }
        }
        guard sd_bus_message_exit_container(message) >= 0,
            sd_bus_message_enter_container(message, Code.array, "s") >= 0
        else { return }
        while let property = readString(message) {
            if property == "Metered" { ask() }
        }
    }

    /// Handles `NameOwnerChanged(s name, s old, s new)`: NetworkManager has started or stopped.
    private func ownerChanged(_ message: OpaquePointer?) {
        guard sd_bus_message_skip(message, "ss") >= 0, let owner = readString(message) else { return }
        if owner.isEmpty { settle(nil) } else { ask() }
    }

    private func readString(_ message: OpaquePointer?) -> String? {
        // A pointer into the message.
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, Code.string, &text) > 0, let text else { return nil }
        return String(cString: text)
    }

    private func readVariant(_ message: OpaquePointer?) -> UInt32? {
        var value: UInt32 = 0
        guard sd_bus_message_enter_container(message, Code.variant, "u") > 0,
            sd_bus_message_read_basic(message, Code.unsigned, &value) > 0
        else { return nil }
        return value
    }
}
