internal import CLinux
internal import Foundation
internal import Platform
internal import SystemPackage

/// The calls on the archive folder. All of them may block for ever if its file system is dead, so they run on the
/// archive's `StallingQueue`.
struct ArchiveFolder: Sendable {
    let path: String
    /// The cache, which must not contain the folder.
    let cache: String

    /// Looks at the folder, and writes a marker file into a new one. Does not touch a folder in a mount of podfs.
    ///
    /// An unmounted disk leaves an empty folder at its mount point. So a folder without a marker is only accepted as a
    /// new archive while the library has none.
    ///
    /// - Parameters:
    ///   - known: The id of the archive that the library knows; `nil` if there is none.
    ///   - hasFiles: Whether the library has files in that archive.
    /// - Returns: The state, and the id in the marker file of a folder that can be read.
    func examine(known: String?, hasFiles: Bool) -> (state: ArchiveState, id: String?) {
        func offline(_ reason: String) -> (ArchiveState, String?) { (.offline(reason), nil) }
        if let reason = objection(to: path) { return offline("archive.folder: \(path) \(reason)") }
        guard let resolved = realpath(path, nil) else { return offline("\(path): \(errnoText())") }
        defer { free(resolved) }
        if let reason = objection(to: String(cString: resolved)) {
            return offline("archive.folder: \(path) \(reason)")
        }
        do throws(Errno) {
            let folder = try OpenFolder(path)
            if known == nil || !hasFiles, try folder.marker() == nil {
                try folder.add(Array("\(UUID().uuidString.lowercased())\n".utf8), as: ArchiveNames.marker)
                folder.sync()
            }
            guard let id = try folder.marker() else {
                return offline(
                    "\(path) has no file \(ArchiveNames.marker): the archive's disk is not mounted there, "
                        + "or the file was left behind when the archive was moved")
            }
            if let known, hasFiles, known != id {
                return offline("\(path) is another archive: \(ArchiveNames.marker) has the id \(id), not \(known)")
            }
            return (folder.isWritable ? .online : .readOnly("\(path) is read-only"), id)
        } catch {
            return offline("\(path): \(errnoText(error.rawValue))")
        }
    }

    /// Returns why a path cannot be the archive; `nil` if it can. Accesses no file system but /proc.
    private func objection(to path: String) -> String? {
        if Self.contains(cache, path) { return "is in the cache, \(cache)" }
        let mount = MountEntry.all().last { $0.type == "fuse.podfs" && Self.contains($0.path, path) }
        return mount.map { "is in the mounted folder \($0.path)" }
    }

    private static func contains(_ folder: String, _ path: String) -> Bool {
        path == folder || path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }

    /// Opens the folder for changes. Later calls with it cannot reach another file system that is mounted at the path
    /// meanwhile.
    ///
    /// - Parameter marker: The expected id of the archive.
    func open(_ marker: String) throws(ArchiveError) -> OpenFolder {
        let (folder, found): (OpenFolder, String?)
        do throws(Errno) {
            folder = try OpenFolder(path)
            found = try folder.marker()
        } catch {
            throw .unavailable("\(path): \(errnoText(error.rawValue))")
        }
        guard found == marker else {
            throw .unavailable("\(path) has no file \(ArchiveNames.marker) with the archive's id")
        }
        return folder
    }
}

/// A folder that is open, as the base of relative paths.
final class OpenFolder: Sendable {
    let descriptor: Int32

    init(_ path: String) throws(Errno) {
        descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    }

    /// Opens a folder inside another one.
    ///
    /// - Parameter creates: Whether to create it if it is missing.
    init(_ name: String, in parent: OpenFolder, creates: Bool = false) throws(Errno) {
        if creates, mkdirat(parent.descriptor, name, 0o777) != 0, errno != EEXIST { throw Errno(rawValue: errno) }
        descriptor = clinux_openat(parent.descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    }

    deinit { close(descriptor) }

    /// Returns the id in the marker file; `nil` if there is none.
    func marker() throws(Errno) -> String? {
        let file = clinux_openat(descriptor, ArchiveNames.marker, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw Errno(rawValue: errno)
        }
        defer { close(file) }
        guard let bytes = readAll(file, limit: 4_096) else { throw Errno(rawValue: errno) }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    /// Whether files can be created.
    var isWritable: Bool {
        var space = statvfs()
        return faccessat(descriptor, ".", W_OK, 0) == 0
            && (fstatvfs(descriptor, &space) != 0 || space.f_flag & UInt(ST_RDONLY) == 0)
    }

    /// Writes a small file and syncs it, unless there is one of this name.
    ///
    /// - Parameter owner: The text by which an installation recognizes its unfinished files.
    func add(_ bytes: [UInt8], as name: String, owner: String = "") throws(Errno) {
        let partial = ArchiveNames.newPartial(owner)
        let file = clinux_openat(descriptor, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        defer { unlinkat(descriptor, partial, 0) }
        let isWritten = writeAll(bytes, to: file) && fsync(file) == 0
        let failure = isWritten ? errorOfRename(partial, to: name) : Errno(rawValue: errno)
        close(file)
        // Another machine may have just added the same file.
        if let failure, failure != .fileExists { throw failure }
    }

    /// Opens a regular file, without following a symbolic link.
    func openFile(_ name: String) throws(Errno) -> FileDescriptor {
        let file = clinux_openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { throw Errno(rawValue: errno) }
        var status = stat()
        guard fstat(file, &status) == 0, clinux_is_regular(status.st_mode) != 0 else {
            close(file)
            throw Errno.notSupported
        }
        return FileDescriptor(rawValue: file)
    }

    /// Renames a file without replacing another one.
    ///
    /// Where the file system cannot do that in one call, a link takes the name; where it has no links either, two
    /// machines that take the same name at the same moment are not kept apart.
    ///
    /// - Returns: The error: `fileExists` if the name is taken; `nil` if the file has the new name.
    func errorOfRename(_ name: String, to newName: String) -> Errno? {
        if clinux_rename_noreplace(descriptor, name, descriptor, newName) == 0 { return nil }
        let error = Errno(rawValue: errno)
        guard [.invalidArgument, .noFunction, .notSupported].contains(error) else { return error }
        if linkat(descriptor, name, descriptor, newName, 0) == 0 {
            unlinkat(descriptor, name, 0)
            return nil
        }
        if errno == EEXIST || has(newName) { return .fileExists }
        return renameat(descriptor, name, descriptor, newName) == 0 ? nil : Errno(rawValue: errno)
    }

    /// Whether there is an entry of this name.
    func has(_ name: String) -> Bool { faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 }

    /// Writes the folder's entries to the disk. Errors are ignored: some file systems cannot sync a folder.
    func sync() { _ = fsync(descriptor) }

    /// Returns the names of the entries.
    func names() throws(Errno) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd/\(descriptor)")
        } catch {
            throw .ioError
        }
    }
}
