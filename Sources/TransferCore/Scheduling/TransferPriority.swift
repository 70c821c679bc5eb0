/// Who waits for a transfer; a greater one goes first.
package enum TransferPriority: Int, Sendable, Codable, Comparable, CaseIterable {
    /// Nobody has asked: a newest episode that is fetched ahead. Runs only while conditions allow it.
    case automatic
    /// A person wants the file.
    case asked
    /// A program is blocked on a byte of it.
    case reader

    package static func < (one: TransferPriority, other: TransferPriority) -> Bool { one.rawValue < other.rawValue }
}
