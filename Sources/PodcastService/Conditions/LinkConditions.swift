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
