internal import Glibc
internal import Platform
internal import SystemPackage

/// Returns the content of a file.
///
/// - Throws: The error of open(2) or read(2).
func readFile(_ path: String) throws(Errno) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    defer { close(descriptor) }
    guard let bytes = readAll(descriptor) else { throw Errno(rawValue: errno) }
    return bytes
}
