internal import Dispatch

/// A source of the network and power conditions: the system, or a test double.
package struct ConditionSource: Sendable {
    /// Reads the conditions. The call normally blocks for a millisecond, but for 90 s (BUS_AUTH_TIMEOUT of sd-bus) if
    /// the bus accepts the connection and does not authenticate it.
    package var read: @Sendable () -> LinkConditions

    /// Returns a source whose conditions never change.
    package static func constant(_ conditions: LinkConditions) -> ConditionSource { ConditionSource { conditions } }

    /// Returns a source for this machine: power from the kernel, the link from NetworkManager.
    ///
    /// A condition that cannot be read (no bus, no NetworkManager, no sysfs) is unknown. This is not logged, because it
    /// is normal on servers and in containers.
    ///
    /// - Parameters:
    ///   - powerSupplies: the sysfs directory of the power supplies.
    ///   - busAddress: the address of NetworkManager's bus; `nil` means the system bus.
    package static func system(
        powerSupplies: String = PowerSupplies.standardDirectory, busAddress: String? = nil
    ) -> ConditionSource {
        ConditionSource {
            LinkConditions(
                isMetered: NetworkManager.isMetered(address: busAddress),
                isOnBattery: PowerSupplies(directory: powerSupplies).isOnBattery())
        }
    }

    private static let queue = DispatchQueue(label: "podfs.conditions")

    /// Reads the conditions on a thread that may block.
    func readInBackground() async -> LinkConditions {
        await withCheckedContinuation { continuation in
            Self.queue.async { continuation.resume(returning: read()) }
        }
    }
}

/// The present cost of a transfer: whether the link is metered and whether the machine is on battery.
///
/// Only discretionary (automatic) tasks wait for an unmetered link and for mains power. Reads and requests by a person
/// never do.
package struct LinkConditions: Sendable, Equatable {
    /// Whether the link is metered; `nil` if unknown.
    package var isMetered: Bool?
    /// Whether the machine runs on battery; `nil` if unknown.
    package var isOnBattery: Bool?

    /// Conditions of which nothing is known.
    package static let unknown = LinkConditions()

    /// Returns whether discretionary tasks may run.
    ///
    /// Unknown conditions allow discretionary tasks. Without NetworkManager or a bus, as on servers, in containers and
    /// on wired desktops, it is unknown whether the link is metered. The link of such a machine is hardly ever metered,
    /// and a task that waited for a known state would wait for ever.
    ///
    /// - Parameters:
    ///   - allowMetered: Whether they may run on a metered link (setting `discretionary.allow_metered`).
    ///   - allowBattery: Whether they may run on battery power (setting `discretionary.allow_battery`).
    package func allowsDiscretionary(allowMetered: Bool, allowBattery: Bool) -> Bool {
        (allowMetered || isMetered != true) && (allowBattery || isOnBattery != true)
    }
}
