/// The reason why a filesystem could not be created, mounted, served or unmounted.
package struct SessionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Sendable, Equatable {
        /// libfuse rejected an option.
        case options
        /// The mount failed.
        case mount
        /// The filesystem is in use, and detaching it was not requested.
        case busy
        /// The unmount failed for another reason.
        case unmount
        /// A thread could not be created.
        case thread
        /// The connection to the kernel could not be set up, or broke, or kernel and libfuse have no common protocol
        /// version.
        case connection
    }

    package var code: Code
    /// The error in one line, with the text of libfuse, fusermount3 or the C library if there is one, and the remedy if
    /// known.
    package var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
