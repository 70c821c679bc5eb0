internal import CSystemd
internal import Glibc
internal import Platform
internal import PodcastProtocol

/// A connection to the session bus, which finds the media players there and talks MPRIS 2.2 with them, by sd-bus(3).
///
/// Subscribes to signals before it asks for the present players, so that no player is missed. Never makes the bus
/// activate (start) a player, and starts no bus. Confined to one thread, as sd-bus requires; no call blocks for its
/// reply.
final class PlayerBus {
    static let prefix = "org.mpris.MediaPlayer2."
    private static let path = "/org/mpris/MediaPlayer2"
    private static let player = "org.mpris.MediaPlayer2.Player"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let bus = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"
    /// The maximum length of a bus name in bytes (D-Bus Specification, "Valid Names").
    private static let longestName = 255
    /// The maximum number of names that are recorded. Players own one or two.
    private static let nameLimit = 4 * PlayerTracker.capacity
    /// The timeout of a call in microseconds.
    private static let timeout: UInt64 = 2_000_000
    /// A proxy that repeats the messages of the active player under a name of its own.
    private static let proxy = prefix + "playerctld"
    /// The track id that a player announces when it has no track.
    private static let noTrack = "/org/mpris/MediaPlayer2/TrackList/NoTrack"

    /// The `sd_bus`.
    private var connection: OpaquePointer?
    /// The players on the bus: the unique names, which are the senders of their signals, by well-known names.
    private var known: [String: PlayerID] = [:]
    private let receive: (PlayerTracker.Input) -> Void
    /// The number of calls whose reply is outstanding.
    private(set) var unanswered = 0

    /// Connects to a bus.
    ///
    /// - Parameter receive: Called with the players' messages, during `process`.
    /// - Returns: `nil` if there is no bus at the address.
    init?(address: String, receive: @escaping (PlayerTracker.Input) -> Void) {
        self.receive = receive
        guard sd_bus_new(&connection) >= 0 else { return nil }
        guard sd_bus_set_address(connection, address) >= 0, sd_bus_set_bus_client(connection, 1) >= 0,
            sd_bus_start(connection) >= 0, subscribe(), listNames()
        else {
            close()
            return nil
        }
    }

    deinit { close() }

    private func close() {
        sd_bus_close_unref(connection)
        connection = nil
    }

    /// The descriptor to poll for `events`.
    var descriptor: Int32 { connection.map { sd_bus_get_fd($0) } ?? -1 }
    var events: Int16 { connection.map { Int16(truncatingIfNeeded: sd_bus_get_events($0)) } ?? 0 }
    /// The time at which `process` is due, in microseconds of CLOCK_MONOTONIC; `nil` for none.
    var deadline: UInt64? {
        var time: UInt64 = 0
        guard let connection, sd_bus_get_timeout(connection, &time) >= 0, time != .max else { return nil }
        return time
    }

    /// Processes at most `limit` messages, so that a player that floods the bus does not block the caller.
    ///
    /// - Returns: Whether there may be more; `nil` if the connection was lost.
    func process(limit: Int = 256) -> Bool? {
        guard let connection else { return nil }
        for _ in 0..<limit {
            let result = sd_bus_process(connection, nil)
            if result < 0 { return nil }
            if result == 0 { return false }
        }
        return true
    }

    // MARK: Calls

    private typealias Answer = (PlayerBus, MessageReader?) -> Void

    /// The handler of a reply; retained until the reply arrives, or the connection ends.
    private final class Pending {
        weak var bus: PlayerBus?
        let answer: Answer

        init(_ bus: PlayerBus, _ answer: @escaping Answer) {
            self.bus = bus
            self.answer = answer
        }
    }

    /// Calls a method. `answer` gets the reply, or `nil` for an error or a timeout. Without `answer`, no reply is
    /// requested.
    ///
    /// - Returns: Whether the call was sent.
    @discardableResult
    private func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String,
        append: (OpaquePointer?) -> Bool = { _ in true }, answer: Answer? = nil
    ) -> Bool {
        var message: OpaquePointer?
        guard sd_bus_message_new_method_call(connection, &message, destination, path, interface, member) >= 0 else {
            return false
        }
        defer { sd_bus_message_unref(message) }
        guard sd_bus_message_set_auto_start(message, 0) >= 0, append(message) else { return false }
        guard let answer else {
            return sd_bus_message_set_expect_reply(message, 0) >= 0 && sd_bus_send(connection, message, nil) >= 0
        }
        var slot: OpaquePointer?
        let pending = Unmanaged.passRetained(Pending(self, answer)).toOpaque()
        let sent = sd_bus_call_async(
            connection, &slot, message,
            { reply, pointer, _ in
                guard let pointer else { return 0 }
                let pending = Unmanaged<Pending>.fromOpaque(pointer).takeUnretainedValue()
                guard let bus = pending.bus else { return 0 }
                bus.unanswered -= 1
                let isError = sd_bus_message_is_method_error(reply, nil) != 0
                pending.answer(bus, isError ? nil : MessageReader(message: reply))
                return 0
            }, pending, Self.timeout)
        guard sent >= 0 else {
            Unmanaged<Pending>.fromOpaque(pending).release()
            return false
        }
        unanswered += 1
        // The connection owns the slot, and releases `pending` with it.
        sd_bus_slot_set_destroy_callback(slot) { pointer in
            if let pointer { Unmanaged<Pending>.fromOpaque(pointer).release() }
        }
        sd_bus_slot_set_floating(slot, 1)
        sd_bus_slot_unref(slot)
        return true
    }

    private static func append(_ texts: String...) -> (OpaquePointer?) -> Bool {
        { message in texts.allSatisfy { sd_bus_message_append_basic(message, busType("s"), $0) >= 0 } }
    }

    /// Requests all properties of a player. `receive` gets the reply as `changed`; it gets nothing after an error.
    func read(_ id: PlayerID) {
        call(id.name, Self.path, Self.properties, "GetAll", append: Self.append(Self.player)) { bus, reader in
            if let reader { bus.receive(.changed(id, reader.properties())) }
        }
    }

    func readPosition(_ id: PlayerID) {
        call(id.name, Self.path, Self.properties, "Get", append: Self.append(Self.player, "Position")) { bus, reader in
            bus.receive(.position(id, reader?.numberVariant().map { $0 / 1_000_000 }))
        }
    }

    /// Asks a player to seek; positions are in seconds.
    func seek(_ id: PlayerID, track: String?, to target: Double, from position: Double) {
        var target = Int64(target * 1_000_000)
        if let track, track != Self.noTrack {
            let isSent = call(id.name, Self.path, Self.player, "SetPosition") { message in
                sd_bus_message_append_basic(message, busType("o"), track) >= 0
                    && sd_bus_message_append_basic(message, busType("x"), &target) >= 0
            }
            if isSent { return }
        }
        // Some players announce no track id, or one that is not an object path. `SetPosition` needs one, `Seek` does
        // not.
        var offset = target - Int64(position * 1_000_000)
        call(id.name, Self.path, Self.player, "Seek") { message in
            sd_bus_message_append_basic(message, busType("x"), &offset) >= 0
        }
    }

    // MARK: Names

    private func listNames() -> Bool {
        call(
            Self.bus, Self.busPath, Self.bus, "ListNames",
            answer: { bus, reader in
                guard let reader, sd_bus_message_enter_container(reader.message, busType("a"), "s") >= 0
                else { return }
                while let name = reader.text(limit: Self.longestName) {
                    if name.hasPrefix(Self.prefix) { bus.findOwner(name) }
                }
            })
    }

    private func findOwner(_ name: String) {
        call(Self.bus, Self.busPath, Self.bus, "GetNameOwner", append: Self.append(name)) { bus, reader in
            if let owner = reader?.text(limit: Self.longestName), !owner.isEmpty { bus.found(name, owner) }
        }
    }

    /// Adds the player that owns a name, unless the name is the proxy's, or `nameLimit` names are known. If the player
    /// is already known, records the name as another of its names.
    private func found(_ name: String, _ owner: String) {
        guard name != Self.proxy, known.count < Self.nameLimit else { return }
        let id = PlayerID(owner)
        let isNew = !known.values.contains(id)
        known[name] = id
        guard isNew else { return }
        call(Self.bus, Self.busPath, Self.bus, "GetConnectionUnixProcessID", append: Self.append(owner)) {
            bus, reader in
            guard bus.known.values.contains(id) else { return }
            let process = reader?.number(busType("u"), UInt32(0)).flatMap { Int32(exactly: $0) }
            bus.receive(.appeared(id, name: String(name.dropFirst(Self.prefix.count)), process: process))
        }
    }

    // MARK: Signals

    /// The pointer to `self` in the subscriptions, which are removed with the connection.
    private var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func bus(_ pointer: UnsafeMutableRawPointer?) -> PlayerBus? {
        pointer.map { Unmanaged<PlayerBus>.fromOpaque($0).takeUnretainedValue() }
    }

    private func subscribe() -> Bool {
        let changed =
            "type='signal',path='\(Self.path)',interface='\(Self.properties)',member='PropertiesChanged',"
            + "arg0='\(Self.player)'"
        let seeked = "type='signal',path='\(Self.path)',interface='\(Self.player)',member='Seeked'"
        let owner =
            "type='signal',sender='\(Self.bus)',path='\(Self.busPath)',interface='\(Self.bus)',"
            + "member='NameOwnerChanged',arg0namespace='org.mpris.MediaPlayer2'"
        return [changed, seeked, owner].allSatisfy { (rule: String) in
            sd_bus_add_match_async(
                connection, nil, rule,
                { message, pointer, _ in
                    PlayerBus.bus(pointer)?.received(message)
                    return 0
                }, nil, pointer) >= 0
        }
    }

    /// Handles a signal that matches one of the subscriptions.
    private func received(_ message: OpaquePointer?) {
        switch sd_bus_message_get_member(message).map({ String(cString: $0) }) {
        case "PropertiesChanged": propertiesChanged(message)
        case "Seeked": seeked(message)
        default: ownerChanged(message)
        }
    }

    /// Returns the player that sent a message; `nil` if it is not known.
    private func sender(_ message: OpaquePointer?) -> PlayerID? {
        guard let name = sd_bus_message_get_sender(message) else { return nil }
        let id = PlayerID(String(cString: name))
        return known.values.contains(id) ? id : nil
    }

    /// Handles `PropertiesChanged(s interface, a{sv} values, as invalidated)`.
    private func propertiesChanged(_ message: OpaquePointer?) {
        guard let id = sender(message), sd_bus_message_skip(message, "s") >= 0 else { return }
        receive(.changed(id, MessageReader(message: message).properties()))
    }

    /// Handles `Seeked(x position)`.
    private func seeked(_ message: OpaquePointer?) {
        guard let id = sender(message), let position = MessageReader(message: message).number(busType("x"), Int64(0))
        else { return }
        receive(.seeked(id, Double(position) / 1_000_000))
    }

    /// Handles `NameOwnerChanged(s name, s old, s new)`.
    private func ownerChanged(_ message: OpaquePointer?) {
        let reader = MessageReader(message: message)
        guard let name = reader.text(limit: Self.longestName), name.hasPrefix(Self.prefix),
            let old = reader.text(limit: Self.longestName), let new = reader.text(limit: Self.longestName)
        else { return }
        if !old.isEmpty { lost(name, PlayerID(old)) }
        if !new.isEmpty { found(name, new) }
    }

    /// Removes a name of a player, and the player if it has no other.
    private func lost(_ name: String, _ id: PlayerID) {
        guard known[name] == id else { return }
        known[name] = nil
        if !known.values.contains(id) { receive(.disappeared(id)) }
    }
}

/// The MPRIS players on a D-Bus bus at the time of the call.
package enum PlayerList {
    /// Returns the players' names, such as `vlc`, sorted; `nil` if there is no bus at the address, the connection is
    /// lost, or a reply does not arrive in time. Blocks for at most `timeout`.
    package static func names(at address: String, within timeout: Duration = .seconds(1)) -> [String]? {
        var names: [String] = []
        let receive = { (input: PlayerTracker.Input) in
            if case .appeared(_, let name, _) = input { names.append(name) }
        }
        guard let bus = PlayerBus(address: address, receive: receive) else { return nil }
        let end = SystemClock.monotonic.now + timeout
        while bus.unanswered > 0 {
            guard let hasMore = bus.process() else { return nil }
            let rest = (end - SystemClock.monotonic.now).milliseconds
            if rest <= 0 { return nil }
            if hasMore || bus.unanswered == 0 { continue }
            var waiting = pollfd(fd: bus.descriptor, events: bus.events, revents: 0)
            _ = poll(&waiting, 1, Int32(clamping: rest))
        }
        return names.sorted()
    }
}
