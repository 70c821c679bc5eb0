internal import Transfers

/// The identifier of a client's connection, never reused while the daemon runs.
package struct ClientID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}
