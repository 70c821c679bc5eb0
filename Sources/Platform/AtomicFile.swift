package import Glibc

/// Atomic replacement of files: a reader finds either the complete old content or the complete new content.
package enum AtomicFile {
    /// The error of a file that could not be written, as one line.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// Writes a temporary file in the same folder, syncs it and renames it to `path`. If `path` is a symbolic link to
    /// an existing file, that file is replaced. On an error the old file is unchanged.
    ///
    /// - Parameters:
    ///   - mode: The mode of the new file, before the process's umask.
    ///   - isSoleWriter: Whether no other process writes this file. The temporary file then has a fixed name, so that
    ///     the next call removes one left by a killed writer.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: mode_t, isSoleWriter: Bool = false
    ) throws(Problem) {
        let destination = realpath(path, nil).map { resolved in
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let target = destination ?? path
        let temporary = target + (isSoleWriter ? "" : ".\(getpid())-\(UInt32.random(in: 0 ... .max))") + ".new"
        if isSoleWriter { unlink(temporary) }
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw problem(path) }
        let isWritten = writeAll(bytes, to: descriptor) && fsync(descriptor) == 0
        let failure = isWritten ? nil : problem(path)
        close(descriptor)
        if let failure {
            unlink(temporary)
            throw failure
        }
        guard rename(temporary, target) == 0 else {
            let failure = problem(path)
            unlink(temporary)
            throw failure
        }
    }

    private static func problem(_ path: String) -> Problem {
        Problem(description: "\(path) cannot be written: \(errnoText())")
    }
}
