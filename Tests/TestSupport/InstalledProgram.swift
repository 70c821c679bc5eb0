import Foundation

/// Programs that some tests need and a machine may lack.
package enum InstalledProgram {
    /// Whether a program with this name is in PATH, as execvp(3) searches it.
    package static func exists(_ name: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
        }
    }
}
