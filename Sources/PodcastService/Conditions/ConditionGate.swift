internal import DaemonCore

/// Lets what nobody has asked for run while the link and the power allow it.
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
        // Unknown conditions do not count as good ones.
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
