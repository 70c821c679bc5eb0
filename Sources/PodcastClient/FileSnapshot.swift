internal import CLinux
internal import Foundation
internal import Glibc
internal import Platform
internal import Synchronization

/// A copy of a file in the folder of uploads, so that the file may change or go afterwards.
///
/// The copy is locked as long as this object lives, and the daemon removes no copy that is: keep it until the daemon has
/// said that it knows of it. A copy that was not handed over is removed with the object.
package final class FileSnapshot: Sendable {
    /// Why a file cannot be copied, one line.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// Of the copy, in its folder.
    package let name: String
    package let size: Int64
    private let path: String
    private let descriptor: Int32
    private let isHandedOver = Atomic(false)

    /// Copied in pieces of this size: where the file system shares blocks the size does not matter, elsewhere it is large
    /// beside the cost of a call.
    private static let piece = 8 << 20

    /// Copies `file` into `folder`, and returns when the copy is on the disk. On a file system that shares blocks this
    /// takes neither time nor space (`copy_file_range`).
    package static func make(of file: String, in folder: String) throws(Problem) -> FileSnapshot {
        let source = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else { throw problem(file, "cannot be read") }
        defer { close(source) }
        let before = try status(source, file)
        guard before.st_size > 0 else { throw Problem(description: "\(file) is empty: there is nothing to publish") }
        let name = UUID().uuidString
        let path = "\(folder)/\(name)"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw problem(folder, "cannot be written to") }
        let size = Int64(before.st_size)
        do throws(Problem) {
            // Nobody else has seen the name yet.
            guard clinux_ofd_lock(descriptor, Int16(F_WRLCK)) == 0 else { throw problem(path, "cannot be locked") }
            try copy(source, to: descriptor, file)
            guard fsync(descriptor) == 0 else { throw problem(file, "cannot be copied to \(folder)") }
            syncFolder(folder)
            let after = try status(source, file)
            guard after.st_size == before.st_size, after.st_mtim.tv_sec == before.st_mtim.tv_sec,
                after.st_mtim.tv_nsec == before.st_mtim.tv_nsec, try status(descriptor, path).st_size == size
            else { throw Problem(description: "\(file) is being written: publish it when it is whole") }
        } catch {
            unlink(path)
            close(descriptor)
            throw error
        }
        return FileSnapshot(name: name, size: size, path: path, descriptor: descriptor)
    }

    private init(name: String, size: Int64, path: String, descriptor: Int32) {
        self.name = name
        self.size = size
        self.path = path
        self.descriptor = descriptor
    }

    /// The daemon knows of the copy: it stays.
    package func handOver() { isHandedOver.store(true, ordering: .relaxed) }

    deinit {
        if !isHandedOver.load(ordering: .relaxed) { unlink(path) }
        close(descriptor)
    }

    private static func status(_ descriptor: Int32, _ file: String) throws(Problem) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw problem(file, "cannot be read") }
        if clinux_is_directory(status.st_mode) != 0 {
            throw Problem(description: "\(file) is a folder: name a file")
        }
        guard clinux_is_regular(status.st_mode) != 0 else {
            throw Problem(description: "\(file) is not a regular file: name a file")
        }
        return status
    }

    private static func copy(_ source: Int32, to target: Int32, _ file: String) throws(Problem) {
        while true {
            let count = retryingInterrupts { clinux_copy_file_range(source, target, piece) }
            if count == 0 { break }
            if count > 0 { continue }
            // What the kernel cannot copy between these two, or a file system of which it does not know the size.
            guard [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM].contains(errno) else {
                throw problem(file, "cannot be copied")
            }
            return try copyByHand(source, to: target, file)
        }
        // Some file systems made of nothing (procfs, and FUSE of old kernels) give 0 for a file that has bytes.
        try copyByHand(source, to: target, file)
    }

    /// From where the descriptors stand.
    private static func copyByHand(_ source: Int32, to target: Int32, _ file: String) throws(Problem) {
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

    /// The name is on the disk too. What a file system does not offer cannot be had.
    private static func syncFolder(_ folder: String) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func problem(_ file: String, _ what: String) -> Problem {
        let isFull = errno == ENOSPC || errno == EDQUOT
        let reason = isFull ? "no space is left for a copy of it" : String(cString: strerror(errno))
        return Problem(description: "\(file) \(what): \(reason)")
    }
}
