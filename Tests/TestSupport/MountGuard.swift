import CLinux
import Foundation
import Glibc
import Platform

/// Guarantees that a FUSE mount is removed, even if its process hangs or was killed.
///
/// At the deadline, or when the guard is released, the mount is detached with `fusermount3 -uz`. If its connection
/// remains open, the connection is aborted through fusectl, which fails every hanging request. Releasing the guard
/// blocks the thread until the connection is closed, but only for a limited time.
package final class MountGuard: Sendable {
    package let mountPoint: String
    private let namespace: MountNamespace?
    private let released: Waker

    /// - Parameters:
    ///   - mountPoint: The path without symbolic links, as in `/proc/self/mountinfo`. It need not be mounted yet.
    ///   - namespace: The namespace of the mount; `nil` means the test's own namespace.
    package init(
        _ mountPoint: String, in namespace: MountNamespace? = nil, deadline: Duration = .seconds(300)
    ) throws {
        TestMachine.requireMounting()
        self.mountPoint = mountPoint
        self.namespace = namespace
        released = try Waker()
        let released = released
        let milliseconds = Int32(clamping: Int64(deadline / .milliseconds(1)))
        Thread.detachNewThread {
            var polled = pollfd(fd: released.descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&polled, 1, milliseconds) == 0 { Self.unmount(mountPoint, in: namespace) }
        }
    }

    deinit {
        released.wake()
        Self.unmount(mountPoint, in: namespace)
    }

    /// Whether a FUSE filesystem is mounted on `mountPoint`. Reads the mount table without accessing the mount.
    package var isMounted: Bool { !Self.connections(at: mountPoint, in: namespace).isEmpty }

    /// Unmounts now, by force if necessary.
    package func unmount() { Self.unmount(mountPoint, in: namespace) }

    // MARK: Unmounting

    private static let control = "/sys/fs/fuse/connections"

    /// The time for a detached filesystem to close its connection before the connection is aborted.
    private static let grace = Duration.seconds(10)

    private static func unmount(_ mountPoint: String, in namespace: MountNamespace?) {
        let connections = connections(at: mountPoint, in: namespace)
        guard !connections.isEmpty else { return }
        if !FileManager.default.fileExists(atPath: control) || isEmpty(control) {
            _ = try? ChildProcess("mount", ["-t", "fusectl", "none", control]).waitBlocking(deadline: grace)
        }
        // The kernel soon reuses device numbers for other mounts, and fusectl names a connection's folder by the
        // number. So the inode of the folder identifies the connection.
        let folders = connections.map { "\(control)/\($0)" }.map { ($0, inode(of: $0)) }
        for _ in connections {
            let words = ["fusermount3", "-uz", mountPoint]
            let command = namespace?.entering(words) ?? words
            _ = try? ChildProcess(command[0], Array(command.dropFirst())).waitBlocking(deadline: grace)
        }
        while !Self.connections(at: mountPoint, in: namespace).isEmpty, umount2(mountPoint, lazily) == 0 {}
        let end = ContinuousClock.now.advanced(by: grace)
        for (folder, number) in folders {
            guard let number else { continue }
            while inode(of: folder) == number {
                let now = ContinuousClock.now
                if now >= end { try? "1".write(toFile: "\(folder)/abort", atomically: false, encoding: .utf8) }
                if now >= end.advanced(by: grace) { break }
                usleep(5_000)
            }
        }
    }

    /// MNT_DETACH of umount2(2).
    private static let lazily: Int32 = 2

    private static func isEmpty(_ folder: String) -> Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty ?? true
    }

    private static func inode(of path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }

    /// Returns the fusectl numbers of the mounts at a path.
    private static func connections(at mountPoint: String, in namespace: MountNamespace?) -> [String] {
        let file = namespace?.mountInfo ?? "/proc/self/mountinfo"
        guard let table = SystemFile.contents(file) else { return [] }
        return MountEntry.all(in: table).filter { $0.isFuse && $0.bytes == Array(mountPoint.utf8) }
            .map { String($0.device.minor) }
    }
}
