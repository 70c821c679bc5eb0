import Glibc

/// A system call that failed, and why.
package struct SystemCallError: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    /// The error that `errno` holds now.
    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
