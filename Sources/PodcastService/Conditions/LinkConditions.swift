/// What the machine says about the cost of a transfer: of its link and of its power.
///
/// Discretionary tasks wait for both. What a person reads or asks for never does.
package struct LinkConditions: Sendable, Equatable {
    /// Whether the link is paid for by volume; `nil` when nobody knows.
    package var isMetered: Bool?
    /// Whether the machine draws on its battery; `nil` when nobody knows.
    package var isOnBattery: Bool?

    package init(isMetered: Bool? = nil, isOnBattery: Bool? = nil) {
        self.isMetered = isMetered
        self.isOnBattery = isOnBattery
    }

    /// Nothing is known.
    package static let unknown = LinkConditions()

    /// Whether tasks that nobody waits for may run.
    ///
    /// What is unknown counts as allowed. It is unknown where no NetworkManager runs, or no bus: servers, containers and
    /// desktops with a cable, whose link is hardly ever metered; there a task that waited would wait for ever, for an
    /// answer that nobody is going to give.
    ///
    /// - Parameters:
    ///   - allowMetered: `discretionary.allow_metered`.
    ///   - allowBattery: `discretionary.allow_battery`.
    package func allowsDiscretionary(allowMetered: Bool, allowBattery: Bool) -> Bool {
        (allowMetered || isMetered != true) && (allowBattery || isOnBattery != true)
    }
}
