import Synchronization
import TestSupport

/// A fake NetworkManager, which owns its name on a bus and serves the property `Metered`. Leaves the bus at `stop` or
/// deinitialization.
final class FakeNetworkManager: Sendable {
    private let state: State
    private let object: BusObject

    init(on address: String, metered: UInt32) throws {
        let state = State(metered)
        self.state = state
        object = try BusObject(
            "/org/freedesktop/NetworkManager", names: ["org.freedesktop.NetworkManager"], on: address
        ) { call in
            guard call.calls("org.freedesktop.DBus.Properties", "Get") else { return nil }
            state.questions.withLock { $0 += 1 }
            let metered = state.metered.withLock { $0 }
            call.reply { reply in reply.variant("u") { $0.append(metered) } }
            return []
        }
    }

    /// The number of requests for the property.
    var questions: Int { state.questions.withLock { $0 } }

    func set(_ metered: UInt32) { state.metered.withLock { $0 = metered } }

    func stop() { object.stop() }

    private final class State: Sendable {
        let metered: Mutex<UInt32>
        let questions = Mutex(0)

        init(_ metered: UInt32) { self.metered = Mutex(metered) }
    }
}
