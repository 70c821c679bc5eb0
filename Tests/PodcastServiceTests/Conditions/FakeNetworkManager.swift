import CLinux
import CSystemd
import Foundation
import Glibc
import Synchronization
import TestSupport

/// Owns NetworkManager's name on a bus and serves its property `Metered`. Leaves the bus at `stop` or deinitialization.
final class FakeNetworkManager: Sendable {
    private let core = Core()
    private let ended = DispatchSemaphore(value: 0)

    init(on address: String, metered: UInt32) throws {
        core.state.withLock { $0.metered = metered }
        let bus = try Self.connect(to: address)
        // Only the thread has the reference from here on; an sd-bus may move between threads, but must not be used by
        // two.
        let pointer = UInt(bitPattern: bus)
        let thread = Thread { [core, ended] in
            if let bus = OpaquePointer(bitPattern: pointer) {
                core.serve(bus)
                sd_bus_flush_close_unref(bus)
            }
            ended.signal()
        }
        // Requested here, so that the name is owned when this returns.
        guard
            sd_bus_add_object(
                bus, nil, Core.path,
                { message, core, _ in
                    guard let core else { return 0 }
                    return Unmanaged<Core>.fromOpaque(core).takeUnretainedValue().answer(message)
                }, Unmanaged.passUnretained(core).toOpaque()) >= 0,
            sd_bus_request_name(bus, Core.name, 0) >= 0
        else {
            sd_bus_close_unref(bus)
            throw SystemCallError("sd_bus_request_name")
        }
        thread.start()
    }

    deinit { core.end() }

    /// The number of requests for the property.
    var questions: Int { core.state.withLock { $0.questions } }

    func set(_ metered: UInt32) { core.state.withLock { $0.metered = metered } }

    func stop() {
        core.end()
        ended.wait()
    }

    private static func connect(to address: String) throws -> OpaquePointer {
        var bus: OpaquePointer?
        guard sd_bus_new(&bus) >= 0, let bus else { throw SystemCallError("sd_bus_new") }
        guard sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0 else {
            sd_bus_close_unref(bus)
            throw SystemCallError("sd_bus_start")
        }
        return bus
    }

    private final class Core: Sendable {
        struct State {
            var metered: UInt32 = 0
            var questions = 0
            var isEnded = false
        }

        static let name = "org.freedesktop.NetworkManager"
        static let path = "/org/freedesktop/NetworkManager"
        static let properties = "org.freedesktop.DBus.Properties"

        let state = Mutex(State())
        private let waker = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

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
                let isEnded = state.withLock { $0.isEnded }
                if isEnded || sd_bus_is_open(bus) <= 0 { return }
                var descriptors = [
                    pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: sd_bus_get_fd(bus), events: Int16(sd_bus_get_events(bus)), revents: 0),
                ]
                poll(&descriptors, 2, -1)
            }
        }

        func answer(_ message: OpaquePointer?) -> Int32 {
            guard sd_bus_message_is_method_call(message, Self.properties, "Get") > 0 else { return 0 }
            let metered = state.withLock { state in
                state.questions += 1
                return state.metered
            }
            var reply: OpaquePointer?
            sd_bus_message_new_method_return(message, &reply)
            appendVariant(metered, to: reply)
            sd_bus_message_send(reply)
            sd_bus_message_unref(reply)
            return 1
        }

        private func appendVariant(_ value: UInt32, to message: OpaquePointer?) {
            open("v", "u", in: message)
            var value = value
            sd_bus_message_append_basic(message, code("u"), &value)
            sd_bus_message_close_container(message)
        }

        private func open(_ type: Unicode.Scalar, _ contents: String, in message: OpaquePointer?) {
            sd_bus_message_open_container(message, code(type), contents)
        }

        private func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
    }
}
