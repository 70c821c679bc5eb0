import Foundation
import Glibc

/// A mount namespace in which every user may open /dev/fuse, whatever the mode of the machine's device node.
///
/// The namespace has its own device node over /dev/fuse, so that the machine's is unchanged. The namespace lives as
/// long as this object or a process in it. Mounts made inside are invisible outside, so programs that use them must be
/// run through `entering`. Needs root. The corresponding system call is `unshare`.
package final class MountNamespace: Sendable {
    /// Whether the test can create such a namespace: it needs root, and some containers forbid `mknod` or `unshare`.
    package static let isPossible: Bool = {
        guard getuid() == 0 else { return false }
        let probe = try? ChildProcess("unshare", ["--mount", "sh", "-c", openDevice("sh -c 'exec 3<> /dev/fuse'")])
        return (try? probe?.waitBlocking(deadline: .seconds(30)))?.status == .exited(0)
    }()

    /// Returns a shell script that permits everybody to open /dev/fuse, then runs `command`. The script must run in a
    /// mount namespace of its own.
    package static func openDevice(_ command: String) -> String {
        """
        mount -t tmpfs -o mode=755 none /mnt && mknod -m 666 /mnt/fuse c 10 229 \
            && mount --bind /mnt/fuse /dev/fuse && umount -l /mnt && \(command)
        """
    }

    private let holder: ChildProcess

    package init() async throws {
        let script = Self.openDevice("echo ready && exec sleep infinity")
        holder = try ChildProcess("unshare", ["--mount", "sh", "-c", script])
        try await holder.waitForOutput("ready")
    }

    deinit { holder.kill() }

    /// The mount table as seen inside, in the format of proc(5)'s mountinfo.
    package var mountInfo: String { "/proc/\(holder.processIdentifier)/mountinfo" }

    /// The mount table as seen inside, in the format of fstab(5).
    package var mounts: String { "/proc/\(holder.processIdentifier)/mounts" }

    /// Returns the words that run `command` inside. The corresponding program is nsenter(1).
    package func entering(_ command: [String]) -> [String] {
        ["nsenter", "--mount=/proc/\(holder.processIdentifier)/ns/mnt", "--"] + command
    }
}
