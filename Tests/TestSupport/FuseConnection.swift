import Foundation
import Glibc
import Platform

/// The kernel's state of one mounted FUSE filesystem, read from the folder with its number in fusectl, a filesystem
/// mounted at /sys/fs/fuse/connections.
package struct FuseConnection: Sendable {
    private let folder: String

    private static let control = "/sys/fs/fuse/connections"

    /// Whether fusectl is mounted, or this process may mount it.
    package static let areVisible = getuid() == 0 || isMounted

    private static var isMounted: Bool {
        let table = SystemFile.contents("/proc/self/mounts") ?? ""
        return table.split(separator: "\n").contains { $0.split(separator: " ").dropFirst(2).first == "fusectl" }
    }

    /// Mounts fusectl if necessary, and looks up the connection number of `mountPoint` in the mount table.
    ///
    /// - Parameter mountPoint: The path as in /proc/self/mountinfo, without characters that are escaped there.
    package init(at mountPoint: String) async throws {
        if !Self.isMounted { _ = try await ChildProcess.run("mount", ["-t", "fusectl", "none", Self.control]) }
        let table = SystemFile.contents("/proc/self/mountinfo") ?? ""
        let line = table.split(separator: "\n").map { $0.split(separator: " ") }.last { fields in
            fields.count > 4 && fields[4] == mountPoint
        }
        guard let number = line?[2].split(separator: ":").last else {
            throw DeadlineError("\(mountPoint) is found in the list of mounts")
        }
        folder = "\(Self.control)/\(number)"
    }

    /// The number of unanswered requests.
    package var waiting: Int {
        get throws {
            let text = try String(contentsOfFile: "\(folder)/waiting", encoding: .utf8)
            return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        }
    }
}
