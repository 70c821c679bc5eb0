internal import TransferCore

/// The number of a client's connection; no other connection is given it while the daemon runs.
package struct ClientID: Identifier {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
}
