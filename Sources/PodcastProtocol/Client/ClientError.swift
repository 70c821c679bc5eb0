/// The reason why a request to the daemon failed.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Sendable {
        /// No daemon could be reached or started.
        case unreachable
        /// The daemon serves another installation, is newer than this program, or sent an unexpected reply.
        case incompatible
        /// The connection ended before the response arrived.
        case disconnected
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error of a request or a wait whose connection has ended.
    package static let disconnected = ClientError(.disconnected, "the connection to the daemon has ended")

    /// The error of a command that was answered by a reply of another kind.
    package static let unexpectedReply = ClientError(
        .incompatible, "the daemon sent an unexpected reply; see podfs doctor")

    package var description: String { message }
}
