/// An error in the configuration file, with its position.
struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    let path: String
    /// The line number, counted from 1; `nil` for an error of the whole file.
    let line: Int?
    let message: String

    /// `PATH:LINE: MESSAGE`, a format that editors recognize.
    var description: String { line.map { "\(path):\($0): \(message)" } ?? "\(path): \(message)" }
}
