internal import Glibc

/// Returns the text of an error number. The corresponding C function is `strerror`.
package func errnoText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
