/// The reason why a request to the daemon failed.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Sendable {
        /// No daemon runs, and none could be started.
        case unreachable
        /// The daemon serves another installation, has an incompatible version, or sent an unexpected reply.
        case disagrees
        /// The connection broke before the response arrived.
        case disconnected
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
