internal import CLinux
internal import Foundation
internal import Platform
internal import Synchronization

/// A copy of a file to publish, in the uploads folder. Once the copy is made, the original may be changed or removed.
///
/// This object holds a lock on the copy, and the daemon does not remove a locked copy: retain the object until the
/// daemon has confirmed the upload. Releasing the object removes the copy, unless `handOver` was called.
package final class FileSnapshot: Sendable {
    /// The reason why a file cannot be copied, one line.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// The file name of the copy in its folder.
    package let name: String
    let path: String
    private let descriptor: Int32
    private let isHandedOver = Atomic(false)

    /// Copies `file` into `folder`, and returns once the copy is on the disk. On a file system that shares blocks
    /// between files, the copy costs neither time nor space (FICLONE).
    package static func make(of file: String, in folder: String) throws(Problem) -> FileSnapshot {
        let source = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else { throw problem(file, "cannot be read") }
        defer { close(source) }
        let before = try status(source, file)
        guard before.st_size > 0 else { throw Problem(description: "\(file) is empty: there is nothing to publish") }
        let snapshot = try createLocked(in: folder)
        try copy(source, to: snapshot.descriptor, file)
        guard fsync(snapshot.descriptor) == 0 else { throw problem(file, "cannot be copied to \(folder)") }
        syncFolder(folder)
        let after = try status(source, file)
        guard after.st_size == before.st_size, after.st_mtim.tv_sec == before.st_mtim.tv_sec,
            after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
            try status(snapshot.descriptor, snapshot.path).st_size == before.st_size
        else { throw Problem(description: "\(file) is being written: publish it when it is complete") }
        return snapshot
    }

    /// The maximum number of files that `createLocked` creates. Each one but the last was removed by a daemon that
    /// started at that moment, so two suffice in practice.
    private static let maxAttempts = 10

    /// Creates an empty file in `folder` and locks it: a snapshot that the caller has to fill.
    ///
    /// A daemon that starts between the creation and the lock does not know the file, so the daemon locks and removes
    /// it (`UploadSnapshots.tidy`). This function then creates another file, which that daemon does not remove, because
    /// it lists the folder only once.
    ///
    /// - Parameter created: Called with the path of each file before it is locked. For tests.
    static func createLocked(
        in folder: String, created: (_ path: String) -> Void = { _ in }
    ) throws(Problem) -> FileSnapshot {
        var failure = Problem(description: "\(folder) cannot be used: each new file in it is removed at once")
        for _ in 1...maxAttempts {
            let name = UUID().uuidString
            let path = "\(folder)/\(name)"
            let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw problem(folder, "cannot be written to") }
            let snapshot = FileSnapshot(name: name, path: path, descriptor: descriptor)
            created(path)
            if clinux_ofd_lock(descriptor, Int16(F_WRLCK)) == 0 {
                var facts = stat()
                if fstat(descriptor, &facts) == 0, facts.st_nlink > 0 { return snapshot }
            } else {
                failure = problem(path, "cannot be locked")
            }
        }
        throw failure
    }

    private init(name: String, path: String, descriptor: Int32) {
        self.name = name
        self.path = path
        self.descriptor = descriptor
    }

    /// Passes ownership of the copy to the daemon: releasing this object no longer removes it. Call once the daemon has
    /// confirmed the upload.
    package func handOver() { isHandedOver.store(true, ordering: .relaxed) }

    deinit {
        if !isHandedOver.load(ordering: .relaxed) { unlink(path) }
        close(descriptor)
    }

    private static func status(_ descriptor: Int32, _ file: String) throws(Problem) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw problem(file, "cannot be read") }
        if clinux_is_directory(status.st_mode) != 0 { throw Problem(description: "\(file) is a folder: name a file") }
        guard clinux_is_regular(status.st_mode) != 0 else {
            throw Problem(description: "\(file) is not a regular file: name a file")
        }
        return status
    }

    private static func copy(_ source: Int32, to target: Int32, _ file: String) throws(Problem) {
        if clinux_reflink(source, target) == 0 { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4_096)
        defer { buffer.deallocate() }
        while true {
            let count = retryingInterrupts { read(source, buffer.baseAddress, buffer.count) }
            if count == 0 { return }
            guard count > 0 else { throw problem(file, "cannot be read") }
            guard writeAll(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target) else {
                throw problem(file, "cannot be copied")
            }
        }
    }

    /// Syncs the folder, so that the copy's name is on the disk too. Ignores errors, since not every file system
    /// supports it.
    private static func syncFolder(_ folder: String) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Returns the problem that `errno` describes.
    private static func problem(_ file: String, _ what: String) -> Problem {
        let isFull = errno == ENOSPC || errno == EDQUOT
        let reason = isFull ? "there is no space for a copy of it" : errnoText()
        return Problem(description: "\(file) \(what): \(reason)")
    }
}
