/// The priority of a transfer; higher ones go first.
package enum TransferPriority: Int, Sendable, Codable, Comparable, CaseIterable {
    /// Not requested: an automatic download of a new episode. Runs only while the network link and the power supply
    /// permit it.
    case automatic
    /// Requested by a person, or by a player's read.
    case asked

    package static func < (one: TransferPriority, other: TransferPriority) -> Bool { one.rawValue < other.rawValue }
}
