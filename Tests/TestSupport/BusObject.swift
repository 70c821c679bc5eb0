import CSystemd
import Foundation
import Glibc
import Synchronization

/// An object that a test exports on D-Bus. A thread of its own serves it until `stop` or deinitialization.
package final class BusObject: Sendable {
    /// Answers a method call and returns the signals to send after the reply; `nil` if the object has no such method.
    package typealias Handler = @Sendable (BusMessage) -> [BusSignal]?

    private let core: Core
    private let ended = DispatchSemaphore(value: 0)

    /// Connects to the bus and acquires `names`, in this order. The object owns them when this returns.
    package init(_ path: String, names: [String], on address: String, answer: @escaping Handler) throws {
        core = Core(path: path, waker: try Waker(), answer: answer)
        var bus: OpaquePointer?
        guard sd_bus_new(&bus) >= 0, sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0,
            sd_bus_start(bus) >= 0,
            sd_bus_add_object(
                bus, nil, path,
                { message, data, _ in
                    guard let data, let message else { return 0 }
                    let core = Unmanaged<Core>.fromOpaque(data).takeUnretainedValue()
                    guard let signals = core.answer(BusMessage(message)) else { return 0 }
                    core.send(signals)
                    return 1
                }, Unmanaged.passUnretained(core).toOpaque()) >= 0,
            names.allSatisfy({ sd_bus_request_name(bus, $0, 0) >= 0 })
        else {
            sd_bus_close_unref(bus)
            throw SystemCallError("sd_bus_request_name")
        }
        // A connection of sd-bus may be handed to another thread, but only one thread at a time may use it. From here
        // on, only the new thread does.
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

    /// Sends signals of the object, in this order.
    package func send(_ signals: [BusSignal]) { core.send(signals) }

    /// Releases a name. This happens before any signal is sent that is passed to `send` later.
    package func release(_ name: String) { core.release(name) }

    /// Disconnects from the bus and waits until the thread has ended.
    package func stop() {
        core.end()
        ended.wait()
    }

    private final class Core: Sendable {
        private struct State {
            var signals: [BusSignal] = []
            var released: [String] = []
            var isEnded = false
        }

        let path: String
        let answer: Handler
        private let waker: Waker
        private let state = Mutex(State())

        init(path: String, waker: Waker, answer: @escaping Handler) {
            (self.path, self.waker, self.answer) = (path, waker, answer)
        }

        func send(_ signals: [BusSignal]) {
            guard !signals.isEmpty else { return }
            state.withLock { $0.signals += signals }
            waker.wake()
        }

        func release(_ name: String) {
            state.withLock { $0.released.append(name) }
            waker.wake()
        }

        func end() {
            state.withLock { $0.isEnded = true }
            waker.wake()
        }

        func serve(_ bus: OpaquePointer) {
            while true {
                while sd_bus_process(bus, nil) > 0 {}
                waker.clear()
                let (isEnded, signals, released) = state.withLock { state in
                    defer { (state.signals, state.released) = ([], []) }
                    return (state.isEnded, state.signals, state.released)
                }
                for name in released { sd_bus_release_name(bus, name) }
                for signal in signals {
                    var message: OpaquePointer?
                    sd_bus_message_new_signal(bus, &message, path, signal.interface, signal.member)
                    if let message { signal.body(BusMessage(message)) }
                    sd_bus_message_send(message)
                    sd_bus_message_unref(message)
                }
                if isEnded || sd_bus_is_open(bus) <= 0 { return }
                var descriptors = [
                    pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: sd_bus_get_fd(bus), events: Int16(sd_bus_get_events(bus)), revents: 0),
                ]
                poll(&descriptors, 2, -1)
            }
        }
    }
}

/// A signal of a `BusObject`, and the values that it carries.
package struct BusSignal: Sendable {
    let interface: String
    let member: String
    let body: @Sendable (BusMessage) -> Void

    package init(_ interface: String, _ member: String, _ body: @escaping @Sendable (BusMessage) -> Void) {
        (self.interface, self.member, self.body) = (interface, member, body)
    }
}

/// A D-Bus message, to read or to compose. Types are the type codes of D-Bus signatures. The corresponding C type is
/// `sd_bus_message`.
package struct BusMessage {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    // MARK: A method call

    package func calls(_ interface: String, _ method: String) -> Bool {
        sd_bus_message_is_method_call(handle, interface, method) > 0
    }

    /// Skips the arguments of the types `skipped`, then reads the next argument, an INT64.
    package func integer(after skipped: String) -> Int64? {
        var value: Int64 = 0
        guard sd_bus_message_skip(handle, skipped) >= 0, sd_bus_message_read_basic(handle, code("x"), &value) > 0
        else { return nil }
        return value
    }

    package func reply(_ body: (BusMessage) -> Void) {
        var message: OpaquePointer?
        sd_bus_message_new_method_return(handle, &message)
        if let message { body(BusMessage(message)) }
        sd_bus_message_send(message)
        sd_bus_message_unref(message)
    }

    // MARK: Values

    package func append(_ text: String, as type: Unicode.Scalar = "s") {
        sd_bus_message_append_basic(handle, code(type), text)
    }

    package func append(_ number: Int64) { append(number, as: "x") }
    package func append(_ number: UInt32) { append(number, as: "u") }
    package func append(_ number: Double) { append(number, as: "d") }

    /// Appends an array of type `a{sv}`.
    package func dictionary(_ body: (BusMessage) -> Void) { container("a", "{sv}", body) }

    package func entry(_ name: String, _ type: String, _ body: (BusMessage) -> Void) {
        container("e", "sv") { message in
            message.append(name)
            message.variant(type, body)
        }
    }

    package func variant(_ type: String, _ body: (BusMessage) -> Void) { container("v", type, body) }

    package func container(_ type: Unicode.Scalar, _ contents: String, _ body: (BusMessage) -> Void) {
        sd_bus_message_open_container(handle, code(type), contents)
        body(self)
        sd_bus_message_close_container(handle)
    }

    private func append<Number>(_ number: Number, as type: Unicode.Scalar) {
        withUnsafePointer(to: number) { _ = sd_bus_message_append_basic(handle, code(type), $0) }
    }

    private func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
}
