import Foundation
import Fuse
import Glibc
import Platform
import PodcastProtocol

/// The folders of `podfs demo`: a temporary folder with all XDG folders, and the mount point.
///
/// The initializer creates the temporary folder, and the mount point if it is missing. It sets the XDG
/// variables in the environment of this process, which the daemon and the mount inherit.
final class DemoHome: Sendable {
    /// The temporary folder.
    let root: String
    /// The mount point.
    let folder: String
    /// At this rate an episode of two megabytes takes about eight seconds, long enough to watch the download.
    private static let configuration = "transfers.rate_limit = \"250 kB/s\"\n"
    /// Whether the initializer has created the mount point, which then has to be removed.
    private let createdFolder: Bool

    init(folder: String?) throws {
        let environment = ProcessInfo.processInfo.environment
        guard let home = environment["HOME"] else { throw CommandError(.failed, "HOME is not set") }
        let wanted = MountPoint.absolute(folder ?? home + "/podfs-demo")
        var template = Array("\(environment["TMPDIR"] ?? "/tmp")/podfs-demo-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw CommandError(.failed, "no temporary folder: \(errnoText())") }
        root = String(cString: made)
        var status = stat()
        if stat(wanted, &status) != 0, errno == ENOENT {
            do {
                try FileManager.default.createDirectory(atPath: wanted, withIntermediateDirectories: true)
            } catch {
                rmdir(root)
                throw CommandError(.failed, "cannot make \(wanted): \(error.localizedDescription)")
            }
            createdFolder = true
        } else {
            createdFolder = false
        }
        self.folder = wanted
        do {
            _ = try MountPoint.prepare(wanted)
            try FileManager.default.createDirectory(atPath: "\(root)/config/podfs", withIntermediateDirectories: true)
            try Data(Self.configuration.utf8).write(to: URL(fileURLWithPath: "\(root)/config/podfs/config.toml"))
        } catch {
            if createdFolder { rmdir(wanted) }
            try? FileManager.default.removeItem(atPath: root)
            throw error
        }
        for name in ["DATA", "CACHE", "CONFIG", "STATE"] {
            setenv("XDG_\(name)_HOME", "\(root)/\(name.lowercased())", 1)
        }
        setenv("XDG_RUNTIME_DIR", root + "/run", 1)
    }

    /// Starts the mount's process, and returns when the mount answers.
    func mount() throws {
        let paths = try Installation().paths
        try SpawnedSelf.start(
            ["mount", "--foreground", "--ready-descriptor", "\(SpawnedSelf.readyDescriptor)", "--", folder],
            log: paths.state + "/mount.log")
    }

    /// Stops the mount and the daemon. Removes the temporary folder, and the mount point if the initializer created it.
    ///
    /// - Returns: The paths of the folders that could not be removed.
    func remove() -> [String] {
        if let mounted = MountEntry.at(folder), mounted.isPodfs {
            if case .process(let id) = mounted.answer() { Self.end(mounted.process(id)) }
            if MountEntry.at(folder)?.isPodfs ?? false { try? Unmount.perform(folder, detach: true) }
        }
        if let paths = try? Installation().paths,
            let text = try? String(contentsOfFile: paths.pidFile, encoding: .utf8),
            let daemon = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
        {
            Self.end(ProcessHandle(daemon))
        }
        var left: [String] = []
        if createdFolder, rmdir(folder) != 0, errno != ENOENT { left.append(folder) }
        do {
            try FileManager.default.removeItem(atPath: root)
        } catch {
            left.append(root)
        }
        return left
    }

    /// Asks a process to exit and waits until it has.
    private static func end(_ process: ProcessHandle?) {
        process?.signal(SIGTERM)
        process?.wait()
    }
}
