/// Why a transfer failed, in terms that a reader of the file can be told.
package struct TransferError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it is; each kind has one errno where it reaches a reader.
    package enum Code: String, Sendable, Equatable {
        /// 401, 403: the server wants credentials, or refuses these.
        case refused
        /// 404, 410: the file is gone from the server.
        case missing
        /// The address is in a more private network than what led to it.
        case outOfReach
        /// No connection: name not found, refused, no route, TLS not verified.
        case unreachable
        /// Nothing arrived for too long.
        case timedOut
        /// No space left for the cache: on its disk, or by its owner's word. It lasts until there is some.
        case diskFull
        /// Another rendition has taken the place of the one that was being read.
        case changed
        /// The cache has the file, and it does not look as it did: it has to be read as a whole before it is served.
        case unverified
        /// The server sent something that is not the file: HTML, JSON, a lying range.
        case unusable
        /// Cancelled by a person.
        case cancelled
        /// Any other failure.
        case failed
    }

    package var code: Code
    /// One line: what went wrong, as `user.podfs.error` and `.status` show it.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
