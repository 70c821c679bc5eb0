import Foundation

/// Execution of programs.
enum Shell {
    /// Runs a program; throws if its exit code is not 0.
    static func run(_ program: String, _ arguments: String...) throws { _ = try output(program, arguments, in: nil) }

    /// Runs a program and returns its output without surrounding white space; throws if its exit code is not 0.
    static func output(_ program: String, _ arguments: String..., in folder: URL? = nil) throws -> String {
        try output(program, arguments, in: folder)
    }

    static func output(_ program: String, _ arguments: [String], in folder: URL?) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = folder
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw PackagingError(
                "\(program) \(arguments.joined(separator: " ")): exit code \(process.terminationStatus)")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
