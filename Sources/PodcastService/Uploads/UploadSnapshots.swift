internal import CLinux
internal import Foundation
internal import Glibc

/// The folder of the copies of what is published. Clients put them there and hold a lock on them until the daemon has
/// written down that it knows of them; after that they are the daemon's, which removes them when they are wanted no more.
struct UploadSnapshots: Sendable {
    let folder: String

    /// - Returns: `nil` for anything that is not the plain name of a copy.
    func path(_ name: String) -> String? { UUID(uuidString: name) == nil ? nil : "\(folder)/\(name)" }

    /// The size of a copy; `nil` when it is not there or is not a file of this user's.
    func size(of name: String) -> Int64? {
        guard let path = path(name) else { return nil }
        var status = stat()
        guard lstat(path, &status) == 0, clinux_is_regular(status.st_mode) != 0, status.st_uid == geteuid() else {
            return nil
        }
        return Int64(status.st_size)
    }

    /// Whether a copy begins as pictures do.
    func isPicture(_ name: String) -> Bool {
        guard let path = path(name) else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // An SVG may have a comment before its first element.
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 && AssetContent.isPicture(Array(bytes[..<count]))
    }

    func remove(_ name: String) {
        if let path = path(name) { unlink(path) }
    }

    /// Removes what nobody knows of: what a client was making when it was killed. What one is still making has its lock.
    func tidy(keeping known: Set<String>) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where !known.contains(name) {
            guard let path = path(name) else { continue }
            let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            if clinux_ofd_lock(descriptor, Int16(F_WRLCK)) == 0 { unlink(path) }
            close(descriptor)
        }
    }
}
