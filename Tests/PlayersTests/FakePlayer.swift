import Synchronization
import TestSupport

/// A player on a D-Bus bus, with the interface of MPRIS 2.2 and the values that a test sets. It disconnects at `stop`
/// or deinitialization.
final class FakePlayer: Sendable {
    struct Values: Sendable {
        var url = ""
        var track = "/track/1"
        /// The length in microseconds, like `position`.
        var length: Int64 = 1_000_000_000
        var position: Int64 = 0
        var status = "Playing"
        var rate: Double = 1
    }

    private static let player = "org.mpris.MediaPlayer2.Player"
    private static let properties = "org.freedesktop.DBus.Properties"

    private let state: State
    private let object: BusObject

    /// - Parameters:
    ///   - name: The bus name without the prefix `org.mpris.MediaPlayer2.`
    ///   - other: A second name, without the prefix.
    init(_ name: String, and other: String? = nil, on address: String, _ values: Values) throws {
        let state = State(values)
        self.state = state
        object = try BusObject(
            "/org/mpris/MediaPlayer2", names: [name, other].compactMap { $0.map(Self.busName) }, on: address,
            answer: { Self.answer($0, of: state) })
    }

    /// The positions in seconds that were set by `SetPosition`.
    var seeks: [Double] { state.seeks.withLock { $0 } }
    /// The number of `Get` calls. The reply to each is the position.
    var positionReads: Int { state.positionReads.withLock { $0 } }

    /// Changes the values, and sends all of them except the position in a `PropertiesChanged` signal.
    func announce(_ change: (inout Values) -> Void) {
        let values = state.values.withLock { values in
            change(&values)
            return values
        }
        object.send([
            BusSignal(Self.properties, "PropertiesChanged") { message in
                message.append(Self.player)
                message.dictionary { Self.append(values, to: $0) }
                message.container("a", "s") { _ in }
            }
        ])
    }

    /// Changes the values without a signal.
    func set(_ change: (inout Values) -> Void) { state.values.withLock { change(&$0) } }

    /// Sends `Seeked` signals with these positions in microseconds.
    func seek(_ positions: [Int64]) { object.send(positions.map(Self.seeked)) }

    /// Gives up a name, stated without the prefix.
    func release(_ name: String) { object.release(Self.busName(name)) }

    func stop() { object.stop() }

    private static func busName(_ name: String) -> String { "org.mpris.MediaPlayer2." + name }

    private final class State: Sendable {
        let values: Mutex<Values>
        let seeks = Mutex<[Double]>([])
        let positionReads = Mutex(0)

        init(_ values: Values) { self.values = Mutex(values) }
    }

    private static func answer(_ call: BusMessage, of state: State) -> [BusSignal]? {
        if call.calls(properties, "GetAll") {
            let values = state.values.withLock { $0 }
            call.reply { reply in
                reply.dictionary { dictionary in
                    append(values, to: dictionary)
                    dictionary.entry("Position", "x") { $0.append(values.position) }
                }
            }
            return []
        }
        if call.calls(properties, "Get") {
            state.positionReads.withLock { $0 += 1 }
            let position = state.values.withLock { $0.position }
            call.reply { reply in reply.variant("x") { $0.append(position) } }
            return []
        }
        guard call.calls(player, "SetPosition"), let position = call.integer(after: "o") else { return nil }
        state.seeks.withLock { $0.append(Double(position) / 1_000_000) }
        state.values.withLock { $0.position = position }
        return [seeked(position)]
    }

    private static func seeked(_ position: Int64) -> BusSignal { BusSignal(player, "Seeked") { $0.append(position) } }

    private static func append(_ values: Values, to dictionary: BusMessage) {
        dictionary.entry("Metadata", "a{sv}") { value in
            value.dictionary { metadata in
                metadata.entry("xesam:url", "s") { $0.append(values.url) }
                metadata.entry("mpris:trackid", "o") { $0.append(values.track, as: "o") }
                metadata.entry("mpris:length", "x") { $0.append(values.length) }
            }
        }
        dictionary.entry("PlaybackStatus", "s") { $0.append(values.status) }
        dictionary.entry("Rate", "d") { $0.append(values.rate) }
    }
}
