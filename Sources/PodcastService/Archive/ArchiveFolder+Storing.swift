internal import CLinux
internal import Glibc
internal import Platform
internal import PodcastLibrary
internal import SystemPackage
internal import Transfers

// Adding files. At any moment a file in the archive is either complete and synced, or has a name that begins with
// `ArchiveNames.partial`.
extension OpenFolder {
    /// Copies a file into the archive. An existing file is never replaced: one with the same content is used, and any
    /// other makes the new file's name end with ` (2)`.
    ///
    /// - Parameters:
    ///   - path: The complete file, with its size, and its expected digest unless that is not known yet.
    ///   - name: The name of the episode's file in the show's folder, as in a mount.
    ///   - modified: The mtime, in seconds since 1970.
    ///   - owner: The text by which this installation recognizes its unfinished files.
    ///   - isFree: Whether a path in the archive is not used by another episode, so that an existing file with the
    ///     same content may be used.
    ///   - begin: Called before each part is copied. It may wait for work that is more urgent.
    ///   - progress: Called with the number of bytes copied since its previous call. It may throw to end the copy.
    func store(
        fileAt path: String, size: Int64, sha256 expected: String?, as name: String, in show: String, modified: Int64,
        owner: String, isFree: (String) -> Bool, begin: () -> Void, progress: (Int64) -> Void
    ) throws -> ArchivedFile {
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .noFollow, .nonBlocking])
        } catch {
            throw ArchiveError.refused("\(path): \(error)")
        }
        defer { try? file.close() }
        let (folder, folderName) = try showFolder(show)
        let partial = ArchiveNames.newPartial(owner)
        let copy = clinux_openat(folder.descriptor, partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard copy >= 0 else { throw Errno(rawValue: errno) }
        var isPlaced = false
        defer {
            close(copy)
            if !isPlaced { unlinkat(folder.descriptor, partial, 0) }
        }
        guard try FileState(of: file).size == size else {
            throw ArchiveError.refused("\(path): its size has changed")
        }
        let sha256 = try FileCopy.copy(
            file, size: size, to: FileDescriptor(rawValue: copy), begin: begin, progress: progress)
        if let expected, expected != sha256 { throw ArchiveError.damaged }
        Self.setModified(modified, of: copy)
        guard fsync(copy) == 0 else { throw Errno(rawValue: errno) }
        let content = ArchivedFile(
            path: "", episode: nil, size: size, sha256: sha256,
            fileState: try FileState(of: FileDescriptor(rawValue: copy)).text)
        let placed = try place(
            partial, content, in: folder, folderName, name: name, isFree: isFree, progress)
        isPlaced = placed.fileState == content.fileState
        folder.sync()
        return placed
    }

    /// Gives a copied file its name.
    private func place(
        _ partial: String, _ content: ArchivedFile, in folder: OpenFolder, _ folderName: String, name: String,
        isFree: (String) -> Bool, _ progress: (Int64) -> Void
    ) throws -> ArchivedFile {
        var file = content
        var stem = FileName.stem(ofFile: name)
        let suffix = String(name.dropFirst(stem.count))
        var isPortable = false
        var number = 1
        while number < 1_000 {
            let candidate = number == 1 ? stem + suffix : "\(stem) (\(number))\(suffix)"
            file.path = "\(folderName)/\(candidate)"
            guard let error = folder.errorOfRename(partial, to: candidate) else { return file }
            if error == .fileExists {
                if isFree(file.path), let state = try folder.state(of: candidate, ifSameAs: content, progress) {
                    file.fileState = state.text
                    return file
                }
                number += 1
            } else if !isPortable, Self.isNameRefused(error) {
                (stem, isPortable, number) = (FileName.portable(stem), true, 1)
            } else {
                throw error
            }
        }
        throw ArchiveError.refused("\(folderName)/\(name): there are too many files of this name")
    }

    /// Opens the folder of a show, and creates it if it is missing. If the file system refuses the name, uses the
    /// portable one.
    private func showFolder(_ name: String) throws(Errno) -> (OpenFolder, name: String) {
        do {
            return (try OpenFolder(name, in: self, creates: true), name)
        } catch  where Self.isNameRefused(error) {
            let portable = FileName.portable(name)
            return (try OpenFolder(portable, in: self, creates: true), portable)
        }
    }

    /// Whether the file system may have refused a name, as FAT does if it contains a colon.
    private static func isNameRefused(_ error: Errno) -> Bool {
        [.invalidArgument, .illegalByteSequence, .fileNameTooLong, .noSuchFileOrDirectory].contains(error)
    }

    /// Returns the state of a file if it has the same content; `nil` otherwise.
    private func state(
        of name: String, ifSameAs content: ArchivedFile, _ progress: (Int64) -> Void
    ) throws -> FileState? {
        guard let file = try? openFile(name) else { return nil }
        defer { try? file.close() }
        let state = try FileState(of: file)
        guard state.size == content.size else { return nil }
        let sha256 = try FileDigest.digest(.sha256, of: file, size: state.size) { _ in progress(0) }
        return sha256 == content.sha256 ? state : nil
    }

    /// Sets the mtime of a file. FAT stores only even seconds.
    private static func setModified(_ seconds: Int64, of descriptor: Int32) {
        let time = timespec(tv_sec: Int(max(0, seconds) & ~1), tv_nsec: 0)
        _ = futimens(descriptor, [time, time])
    }

    /// Reads a file that is in the archive already.
    func examine(_ path: String, progress: (Int64) -> Void) throws -> ArchivedFile {
        let file = try openFile(path)
        defer { try? file.close() }
        let state = try FileState(of: file)
        let sha256 = try FileDigest.digest(.sha256, of: file, size: state.size) { progress(Int64($0.count)) }
        return ArchivedFile(path: path, episode: nil, size: state.size, sha256: sha256, fileState: state.text)
    }

    /// Writes a small file into a show's folder, unless there is one of this name.
    func add(_ bytes: [UInt8], as name: String, in show: String, owner: String) throws(Errno) {
        let folder = try OpenFolder(show, in: self)
        if !folder.has(name) { try folder.add(bytes, as: name, owner: owner) }
    }

    /// Removes the unfinished files of an earlier daemon of this installation, and those of others that are a day old.
    func removePartials(owner: String) throws(Errno) {
        let names = try names()
        removePartials(names, owner: owner)
        for name in names where !name.hasPrefix(".") {
            guard let folder = try? OpenFolder(name, in: self), let entries = try? folder.names() else { continue }
            folder.removePartials(entries, owner: owner)
        }
    }

    private func removePartials(_ names: [String], owner: String) {
        let old = Int(time(nil)) - 86_400
        for name in names where name.hasPrefix(ArchiveNames.partial) {
            var status = stat()
            let isOwn = name.hasPrefix("\(ArchiveNames.partial)\(owner)-")
            let isOld =
                fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mtim.tv_sec < old
            if isOwn || isOld { unlinkat(descriptor, name, 0) }
        }
    }
}
