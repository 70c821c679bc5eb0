import CLinux
import CSystemd
import Foundation
import Glibc
import Synchronization
import TestSupport

/// A player on a bus, with the interface of MPRIS 2.2 and whatever a test makes it say. Leaves the bus at `stop` or
/// deinitialization.
final class FakePlayer: Sendable {
    struct Values: Sendable {
        var url = ""
        var track = "/track/1"
        /// Microseconds.
        var length: Int64 = 1_000_000_000
        var position: Int64 = 0
        var status = "Playing"
        var rate: Double = 1
    }

    private let core: Core
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter name: The name without its prefix.
    init(_ name: String, on address: String, _ values: Values) throws {
        core = Core(values)
        var bus: OpaquePointer?
        guard sd_bus_new(&bus) >= 0, sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0,
            sd_bus_start(bus) >= 0,
            sd_bus_add_object(
                bus, nil, Core.path,
                { message, core, _ in
                    guard let core else { return 0 }
                    return Unmanaged<Core>.fromOpaque(core).takeUnretainedValue().answer(message)
                }, Unmanaged.passUnretained(core).toOpaque()) >= 0,
            sd_bus_request_name(bus, "org.mpris.MediaPlayer2." + name, 0) >= 0
        else {
            sd_bus_close_unref(bus)
            throw SystemCallError("sd_bus_request_name")
        }
        // Only the thread has the reference from here on.
        let pointer = UInt(bitPattern: bus)
        Thread { [core, ended] in
            if let bus = OpaquePointer(bitPattern: pointer) {
                core.serve(bus)
                sd_bus_flush_close_unref(bus)
            }
            ended.signal()
        }.start()
    }

    deinit { core.end() }

    /// The positions in seconds that were set by `SetPosition`.
    var jumps: [Double] { core.state.withLock { $0.jumps } }
    /// The number of readings of the position.
    var readings: Int { core.state.withLock { $0.readings } }

    /// Changes the values and announces them.
    func announce(_ change: (inout Values) -> Void) {
        core.state.withLock { state in
            change(&state.values)
            state.signals.append(.changed(state.values))
        }
        core.wake()
    }

    /// Changes the values without a signal.
    func set(_ change: (inout Values) -> Void) { core.state.withLock { change(&$0.values) } }

    /// Sends `Seeked` signals with these positions in microseconds.
    func seek(_ positions: [Int64]) {
        core.state.withLock { $0.signals += positions.map { .seeked($0) } }
        core.wake()
    }

    func stop() {
        core.end()
        ended.wait()
    }

    private enum Signal {
        case changed(Values)
        case seeked(Int64)
    }

    private final class Core: Sendable {
        struct State {
            var values: Values
            var signals: [Signal] = []
            var jumps: [Double] = []
            var readings = 0
            var isEnded = false
        }

        static let path = "/org/mpris/MediaPlayer2"
        static let player = "org.mpris.MediaPlayer2.Player"
        static let properties = "org.freedesktop.DBus.Properties"

        let state: Mutex<State>
        private let waker = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

        init(_ values: Values) { state = Mutex(State(values: values)) }

        deinit { close(waker) }

        func wake() { eventfd_write(waker, 1) }

        func end() {
            state.withLock { $0.isEnded = true }
            wake()
        }

        func serve(_ bus: OpaquePointer) {
            while true {
                while sd_bus_process(bus, nil) > 0 {}
                var count: eventfd_t = 0
                eventfd_read(waker, &count)
                let (isEnded, signals) = state.withLock { state in
                    defer { state.signals = [] }
                    return (state.isEnded, state.signals)
                }
                for signal in signals { send(signal, on: bus) }
                if isEnded || sd_bus_is_open(bus) <= 0 { return }
                var descriptors = [
                    pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: sd_bus_get_fd(bus), events: Int16(sd_bus_get_events(bus)), revents: 0),
                ]
                poll(&descriptors, 2, -1)
            }
        }

        func answer(_ message: OpaquePointer?) -> Int32 {
            var reply: OpaquePointer?
            defer { sd_bus_message_unref(reply) }
            if sd_bus_message_is_method_call(message, Self.properties, "GetAll") > 0 {
                sd_bus_message_new_method_return(message, &reply)
                let values = state.withLock { $0.values }
                dictionary(in: reply) { self.append(values, hasPosition: true, to: reply) }
                sd_bus_message_send(reply)
                return 1
            }
            if sd_bus_message_is_method_call(message, Self.properties, "Get") > 0 {
                sd_bus_message_new_method_return(message, &reply)
                let position = state.withLock { state in
                    state.readings += 1
                    return state.values.position
                }
                variant("x", in: reply) { self.append(position, to: reply) }
                sd_bus_message_send(reply)
                return 1
            }
            guard sd_bus_message_is_method_call(message, Self.player, "SetPosition") > 0 else { return 0 }
            var position: Int64 = 0
            guard sd_bus_message_skip(message, "o") >= 0, sd_bus_message_read_basic(message, code("x"), &position) > 0
            else { return 0 }
            state.withLock { state in
                state.jumps.append(Double(position) / 1_000_000)
                state.values.position = position
                state.signals.append(.seeked(position))
            }
            wake()
            return 1
        }

        private func send(_ signal: Signal, on bus: OpaquePointer) {
            var message: OpaquePointer?
            defer { sd_bus_message_unref(message) }
            switch signal {
            case .seeked(let position):
                sd_bus_message_new_signal(bus, &message, Self.path, Self.player, "Seeked")
                append(position, to: message)
            case .changed(let values):
                sd_bus_message_new_signal(bus, &message, Self.path, Self.properties, "PropertiesChanged")
                append(Self.player, to: message)
                dictionary(in: message) { self.append(values, hasPosition: false, to: message) }
                open("a", "s", in: message)
                sd_bus_message_close_container(message)
            }
            sd_bus_message_send(message)
        }

        // MARK: Values

        private func append(_ values: Values, hasPosition: Bool, to message: OpaquePointer?) {
            entry("Metadata", "a{sv}", in: message) {
                self.dictionary(in: message) {
                    self.entry("xesam:url", "s", in: message) { self.append(values.url, to: message) }
                    self.entry("mpris:trackid", "o", in: message) {
                        sd_bus_message_append_basic(message, self.code("o"), values.track)
                    }
                    self.entry("mpris:length", "x", in: message) { self.append(values.length, to: message) }
                }
            }
            entry("PlaybackStatus", "s", in: message) { self.append(values.status, to: message) }
            entry("Rate", "d", in: message) {
                var rate = values.rate
                sd_bus_message_append_basic(message, self.code("d"), &rate)
            }
            if hasPosition { entry("Position", "x", in: message) { self.append(values.position, to: message) } }
        }

        private func dictionary(in message: OpaquePointer?, _ body: () -> Void) {
            open("a", "{sv}", in: message)
            body()
            sd_bus_message_close_container(message)
        }

        private func entry(_ name: String, _ type: String, in message: OpaquePointer?, _ body: () -> Void) {
            open("e", "sv", in: message)
            append(name, to: message)
            variant(type, in: message, body)
            sd_bus_message_close_container(message)
        }

        private func variant(_ type: String, in message: OpaquePointer?, _ body: () -> Void) {
            open("v", type, in: message)
            body()
            sd_bus_message_close_container(message)
        }

        private func append(_ text: String, to message: OpaquePointer?) {
            sd_bus_message_append_basic(message, code("s"), text)
        }

        private func append(_ number: Int64, to message: OpaquePointer?) {
            var number = number
            sd_bus_message_append_basic(message, code("x"), &number)
        }

        private func open(_ type: Unicode.Scalar, _ contents: String, in message: OpaquePointer?) {
            sd_bus_message_open_container(message, code(type), contents)
        }

        private func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
    }
}
