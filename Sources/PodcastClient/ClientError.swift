/// Why the daemon could not be asked.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// No daemon, and none could be started.
        case unreachable
        /// The daemon speaks for another installation or another version.
        case disagrees
        /// The connection broke while an answer was awaited.
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
