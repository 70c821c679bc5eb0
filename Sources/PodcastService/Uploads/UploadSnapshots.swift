internal import CLinux
internal import Foundation
internal import Glibc

/// The folder of snapshots: copies of the files to upload. A client creates a snapshot and locks it until the daemon
/// has recorded it; from then on the daemon owns it, and removes it when it is no longer needed.
struct UploadSnapshots: Sendable {
    let folder: String

    /// Returns the path of a snapshot. The name of every snapshot is a UUID; any other name yields `nil`.
    func path(_ name: String) -> String? { UUID(uuidString: name) == nil ? nil : "\(folder)/\(name)" }

    /// Returns the size of a snapshot; `nil` if it does not exist or is not a regular file of this user.
    func size(of name: String) -> Int64? {
        guard let path = path(name) else { return nil }
        var status = stat()
        guard lstat(path, &status) == 0, clinux_is_regular(status.st_mode) != 0, status.st_uid == geteuid() else {
            return nil
        }
        return Int64(status.st_size)
    }

    /// Returns whether a snapshot has the signature of an image.
    func isPicture(_ name: String) -> Bool {
        guard let path = path(name) else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // 4 KiB, because an SVG may have a comment before its first element.
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 && AssetContent.isPicture(Array(bytes[..<count]))
    }

    func remove(_ name: String) {
        if let path = path(name) { unlink(path) }
    }

    /// Removes the snapshots that are not in `known`. Clients that were killed before the daemon recorded their uploads
    /// have left them. A snapshot that a client is still writing is locked, so it is not removed.
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
