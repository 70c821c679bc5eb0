/// The error of a mount, of a session, or of an unmount.
package struct SessionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Whether the filesystem is in use, and detaching it was not requested.
    package let isBusy: Bool
    /// The error in one line, with the text of libfuse, fusermount3 or the C library if there is one, and the remedy if
    /// known.
    package let description: String

    init(_ description: String, isBusy: Bool = false) {
        self.isBusy = isBusy
        self.description = description
    }
}
