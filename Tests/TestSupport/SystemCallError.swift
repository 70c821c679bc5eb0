import Glibc

/// The failure of a system call.
package struct SystemCallError: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    /// Creates an error, by default with the current value of `errno`.
    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
