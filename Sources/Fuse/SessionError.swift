import SystemPackage

/// Why a filesystem could not be made, mounted, served or unmounted.
package struct SessionError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// libfuse refused an option.
        case options
        /// The mount did not come about.
        case mount
        /// The filesystem is in use and was to be unmounted only if it is not.
        case busy
        /// The unmount failed for another reason.
        case unmount
        /// A thread could not be started.
        case thread
        /// The connection to the kernel broke, or kernel and libfuse did not agree on the protocol.
        case connection
    }

    package var code: Code
    /// What went wrong in libfuse's, fusermount3's or the C library's own words, in one line, and what helps if known.
    package var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

/// The text of an error number. The corresponding C function is `strerror`.
func describe(_ code: Int32) -> String {
    Errno(rawValue: code).description
}
