internal import CLinux
internal import Glibc
package import SystemPackage

/// One rendition's sparse file, open for the one process that writes it.
///
/// Bytes are written where they belong and never again: no truncation, no hole punching, no overwriting. The file has
/// the rendition's full size from the start when that is known, so that readers may map it. Calls are safe from any
/// thread (`pread` and `pwrite` carry their offset); the descriptor closes with the value.
package final class CacheFile: Sendable {
    /// The name below the cache's media folder.
    package let name: String
    package let path: FilePath
    private let descriptor: FileDescriptor

    init(name: String, path: FilePath, descriptor: FileDescriptor) {
        self.name = name
        self.path = path
        self.descriptor = descriptor
    }

    deinit { try? descriptor.close() }

    /// Writes all of `bytes` at `offset`. Throws the errno of `pwrite`, ENOSPC among them.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        do {
            try descriptor.writeAll(toAbsoluteOffset: offset, bytes)
        } catch let error as Errno {
            throw error
        } catch {
            throw .ioError
        }
    }

    /// Reads up to the buffer's size at `offset`; fewer only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try descriptor.readFully(into: buffer, at: offset)
    }

    /// Makes the file `size` bytes long where it is shorter; it never becomes shorter. The corresponding C function is
    /// `ftruncate`.
    package func extend(to size: Int64) throws(Errno) {
        guard try identity().state.size < size else { return }
        guard ftruncate(descriptor.rawValue, off_t(size)) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Returns when all that was written is on the disk. The corresponding C function is `fdatasync`.
    package func synchronize() throws(Errno) {
        guard fdatasync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
    }

    /// The SHA-256 of the first `size` bytes, lower-case hexadecimal. Reads the whole file: not for the thread that
    /// serves transfers.
    package func sha256(size: Int64) throws -> String {
        try FileDigest.sha256(of: descriptor, size: size)
    }

    /// Whether it still has a name; one that was removed may be open nevertheless.
    func isLinked() -> Bool {
        var status = stat()
        return fstat(descriptor.rawValue, &status) == 0 && status.st_nlink > 0
    }

    /// The device that a checkpoint is bound to, and how the file looks.
    func identity() throws(Errno) -> (device: UInt64, state: FileState) {
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0 else { throw Errno(rawValue: errno) }
        return (UInt64(status.st_dev), FileState(status))
    }

    /// Whether the file system has data for all of `range`. It answers in blocks, so a `true` is no proof; a `false` is.
    func mayHold(_ range: Range<Int64>) -> Bool {
        if range.isEmpty { return true }
        let data = clinux_seek_data(descriptor.rawValue, off_t(range.lowerBound))
        guard data == off_t(range.lowerBound) else { return false }
        return clinux_seek_hole(descriptor.rawValue, off_t(range.lowerBound)) >= off_t(range.upperBound)
    }
}

extension FileDescriptor {
    /// `pread` until the buffer is full or the file ends.
    func readFully(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count: Int
            do {
                count = try read(fromAbsoluteOffset: offset + Int64(done), into: rest)
            } catch let error as Errno {
                throw error
            } catch {
                throw .ioError
            }
            if count == 0 { break }
            done += count
        }
        return done
    }
}
