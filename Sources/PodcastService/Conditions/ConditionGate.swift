internal import DaemonCore

/// Permits discretionary work while the network and power conditions allow it.
@ServiceActor
final class ConditionGate: ServicePart {
    nonisolated let context: ServiceContext
    private let driver: CoreDriver
    private var watch: Task<Void, Never>?

    init(_ driver: CoreDriver) {
        context = driver.context
        self.driver = driver
    }

    func start() {
        let configuration = configuration
        // Discretionary work waits for the first reading: the link may be metered.
        if configuration.conditions.current() == nil { driver.note(.conditions(allowDiscretionary: false)) }
        watch = startTask { [weak driver] in
            for await conditions in configuration.conditions.changes() {
                let allowed = conditions.allowsDiscretionary(
                    allowMetered: configuration.allowsMetered, allowBattery: configuration.allowsBattery)
                driver?.note(.conditions(allowDiscretionary: allowed))
            }
        }
    }

    func stop() { watch?.cancel() }
}
