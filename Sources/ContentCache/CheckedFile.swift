internal import CLinux
internal import Glibc
internal import SystemPackage

/// An open file of the cache that looks as it should.
///
/// Every file of the cache is opened here, by the daemon and by mounts: what another program has left under its name is
/// never read as podfs's own. A symbolic link is not followed, and a pipe does not block. Costs one fstat(2) more than the
/// open, and where the file is to be whole one lseek(2).
struct CheckedFile {
    let descriptor: FileDescriptor
    let state: FileState

    /// - Throws: why the file is not what is expected; nothing is open then.
    init(
        at path: FilePath, _ mode: FileDescriptor.AccessMode, expecting expectation: CacheExpectation
    ) throws(CacheFileDefect) {
        do {
            descriptor = try FileDescriptor.open(path, mode, options: [.closeOnExec, .noFollow, .nonBlocking])
        } catch {
            throw Self.defect(of: error)
        }
        var status = stat()
        let found: CacheFileDefect?
        if fstat(descriptor.rawValue, &status) != 0 {
            found = .unreadable(code: errno)
        } else if clinux_is_regular(status.st_mode) == 0 {
            found = .notAFile
        } else {
            found = nil
        }
        state = FileState(status)
        let defect = found ?? expectation.defect(of: state, descriptor)
        if let defect {
            try? descriptor.close()
            throw defect
        }
    }

    private static func defect(of error: any Error) -> CacheFileDefect {
        switch (error as? Errno) ?? .ioError {
        case .noSuchFileOrDirectory, .notDirectory: .missing
        // A symbolic link; a folder, opened for writing; a socket.
        case .tooManySymbolicLinkLevels, .isDirectory, .noSuchAddressOrDevice: .notAFile
        case let error: .unreadable(code: error.rawValue)
        }
    }
}

/// What a cache file is to be like.
package enum CacheExpectation: Sendable, Equatable {
    /// Some file.
    case file
    /// One of that many bytes.
    case size(Int64)
    /// One of that many bytes, all of which the file system says it has: `changed` where it says otherwise.
    case dense(size: Int64)
    /// The whole file of which that state was recorded; without one nothing is known but the size.
    case recorded(FileState?, size: Int64)

    func defect(of state: FileState, _ descriptor: FileDescriptor) -> CacheFileDefect? {
        switch self {
        case .file: return nil
        case .size(let size):
            return state.size == size ? nil : .wrongSize(found: state.size, expected: size)
        case .dense(let size):
            if state.size != size { return .wrongSize(found: state.size, expected: size) }
            return Self.hasHole(descriptor, size) ? .changed : nil
        case .recorded(let recorded, let size):
            if state.size != size { return .wrongSize(found: state.size, expected: size) }
            guard let recorded, recorded.admits(state) else { return .changed }
            // Where there were holes from the beginning, more of them are not seen.
            return recorded.isDense && Self.hasHole(descriptor, size) ? .changed : nil
        }
    }

    /// A file system that cannot tell says that there is none. Leaves the descriptor's own offset at the end; all reads
    /// carry theirs.
    private static func hasHole(_ descriptor: FileDescriptor, _ size: Int64) -> Bool {
        guard size > 0 else { return false }
        let hole = clinux_seek_hole(descriptor.rawValue, 0)
        return hole >= 0 && hole < off_t(size)
    }
}
