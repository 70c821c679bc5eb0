/// What is wrong with the configuration file, and where.
struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    let path: String
    /// From 1, or `nil` when the whole file is meant.
    let line: Int?
    let message: String

    /// `PATH:LINE: MESSAGE`, the form that editors can jump to.
    var description: String {
        line.map { "\(path):\($0): \(message)" } ?? "\(path): \(message)"
    }
}
