internal import CLinux
internal import Foundation
internal import Glibc
internal import Synchronization
package import SystemPackage

/// The folder of cache files. A cache file is `media/XX/NAME`, where XX is the first two digits of NAME. Its
/// checkpoint, the record of the bytes that the file has, is `media/XX/NAME.json`.
///
/// One process writes, and holds the `FolderLock` of the folder. Any number of processes read, through `MediaReader`.
/// Names are random (UUIDs), so a name is never reused for another rendition (version of a media file).
package final class ContentCache: Sendable {
    package let directory: FilePath
    /// `Checkpoint.currentBootID` when the cache was opened.
    private let bootID: String
    private let reserve = Mutex(Reserve())

    /// Files created before they are needed: blanks (empty files) and spares (replaced checkpoints). Creating a file
    /// takes 30 to 1,000 µs on ext4, and the first read of an episode would wait for two: the cache file and its
    /// checkpoint. Truncating a file takes as long, so the first checkpoint of a cache file is written to a blank, and
    /// to a spare only if there is no blank.
    private struct Reserve {
        /// Empty files, each of which becomes a cache file or a first checkpoint.
        var blanks: [Blank] = []
        /// Paths of replaced checkpoints, which later checkpoints overwrite. If such a file no longer exists, the write
        /// of the later checkpoint creates it.
        var spares: [FilePath] = []
        /// The number of temporary names assigned so far.
        var named = 0

        mutating func name(_ prefix: String, in directory: FilePath) -> FilePath {
            named += 1
            return directory.appending(prefix + "\(named)")
        }
    }

    private struct Blank {
        /// The name of the cache file that it may become; the folder for that name exists.
        var name: String
        /// The current path.
        var path: FilePath
        var descriptor: FileDescriptor

        func discard() {
            unlink(path.string)
            try? descriptor.close()
        }
    }

    /// The number of blanks in a full reserve. By default, readers may use six connections to one server, and all six
    /// may start a download at the same time. Each download needs two blanks; the rest is a margin.
    private static let maxBlanks = 16
    /// The number of blanks below which `prepare` should be called.
    private static let minBlanks = 8
    private static let blankPrefix = "blank."
    private static let sparePrefix = "checkpoint."

    /// Opens the cache, creating its folder (0700) if necessary. Throws Foundation's error if that fails.
    package init(directory: FilePath) throws {
        self.directory = directory
        bootID = Checkpoint.currentBootID()
        try Self.createFolders(directory.appending("media"))
    }

    deinit { reserve.withLock { for blank in $0.blanks { try? blank.descriptor.close() } } }

    /// Returns the path of a cache file.
    package static func path(of name: String, in directory: FilePath) -> FilePath {
        directory.appending("media").appending(String(name.prefix(2))).appending(name)
    }

    private func checkpointPath(_ name: String) -> FilePath {
        FilePath(Self.path(of: name, in: directory).string + ".json")
    }

    /// Creates a sparse file of `size` bytes, or an empty one if the size is unknown, under a new random name.
    package func create(size: Int64?) throws -> CacheFile {
        let file = try popBlank() ?? createFile()
        do {
            if let size { try file.extend(to: size) }
            return file
        } catch {
            unlink(file.path.string)
            throw error
        }
    }

    private func createFile() throws -> CacheFile {
        let name = Self.newName()
        let path = Self.path(of: name, in: directory)
        let descriptor: FileDescriptor
        do {
            descriptor = try Self.createFile(at: path)
        } catch Errno.noSuchFileOrDirectory {
            try createFolder(of: path)
            descriptor = try Self.createFile(at: path)
        }
        return CacheFile(name: name, path: path, descriptor: descriptor)
    }

    private static func newName() -> String { UUID().uuidString.lowercased().filter { $0 != "-" } }

    /// Creates the folder that contains `path`, and the folders above it if a person has removed them.
    private func createFolder(of path: FilePath) throws(Errno) {
        let folder = path.removingLastComponent()
        try? Self.createFolders(folder.removingLastComponent())
        guard mkdir(folder.string, 0o700) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
    }

    private static func createFolders(_ path: FilePath) throws {
        try FileManager.default.createDirectory(
            atPath: path.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private static func createFile(at path: FilePath) throws -> FileDescriptor {
        try FileDescriptor.open(
            path, .readWrite, options: [.create, .exclusiveCreate, .closeOnExec], permissions: [.ownerReadWrite])
    }

    // MARK: Files created in advance

    /// Whether `prepare` should be called.
    package var isLowOnFiles: Bool { reserve.withLock { $0.blanks.count < Self.minBlanks } }

    /// Refills the reserve of empty files that `create` and `save` use up. Call it on a thread that no reader waits
    /// for. Errors are ignored: with an empty reserve `create` and `save` create the files themselves, and throw the
    /// error.
    package func prepare() {
        while reserve.withLock({ $0.blanks.count < Self.maxBlanks }) {
            let name = Self.newName()
            let path = reserve.withLock { $0.name(Self.blankPrefix, in: directory) }
            guard (try? createFolder(of: Self.path(of: name, in: directory))) != nil,
                let descriptor = try? Self.createFile(at: path)
            else { return }
            reserve.withLock { $0.blanks.append(Blank(name: name, path: path, descriptor: descriptor)) }
        }
    }

    /// Removes the unused files that `prepare` has created, and the replaced checkpoints.
    package func removeReserve() {
        let (blanks, spares) = reserve.withLock {
            (exchange(&$0.blanks, with: []), exchange(&$0.spares, with: []))
        }
        for blank in blanks { blank.discard() }
        for spare in spares { unlink(spare.string) }
    }

    private func popBlank() -> CacheFile? {
        guard let blank = reserve.withLock({ $0.blanks.popLast() }) else { return nil }
        let path = Self.path(of: blank.name, in: directory)
        guard rename(blank.path.string, path.string) == 0 else {
            blank.discard()
            return nil
        }
        return CacheFile(name: blank.name, path: path, descriptor: blank.descriptor)
    }

    /// Opens a cache file of an earlier run for writing, and returns the ranges whose bytes are certain to be in it.
    ///
    /// - Returns: `nil` if the file or its checkpoint is missing or damaged, or if the checkpoint is of another file.
    ///   The file and its checkpoint are then removed.
    /// - Throws: A transient defect (`CacheFileDefect.isTransient`), such as EMFILE. Nothing was removed then.
    package func reopen(
        _ name: String
    ) throws(CacheFileDefect) -> (file: CacheFile, checkpoint: Checkpoint, present: RangeSet<Int64>)? {
        let path = Self.path(of: name, in: directory)
        guard let checkpoint = try Self.checkpoint(of: name, in: directory),
            let opened = try Self.open(path, .readWrite, expecting: checkpoint.total.map { .size($0) } ?? .file)
        else {
            remove(name)
            return nil
        }
        let file = CacheFile(name: name, path: path, descriptor: opened.descriptor)
        if let recorded = checkpoint.state, checkpoint.receivedRanges == RangeSet(0..<recorded.size) {
            let expectation = CacheExpectation.recorded(recorded, size: recorded.size)
            if expectation.defect(of: opened.state, opened.descriptor) == nil {
                return (file, checkpoint, RangeSet(0..<recorded.size))
            }
        } else if opened.state.inode == checkpoint.inode {
            // The device number is not compared: that of some file systems changes at each mount (btrfs, overlay).
            let sameBoot = !bootID.isEmpty && checkpoint.bootID == bootID
            let claimed = sameBoot ? checkpoint.receivedRanges : checkpoint.syncedRanges
            let present = claimed.ranges.filter { $0.upperBound <= opened.state.size && file.mayContain($0) }
            return (file, checkpoint, RangeSet(present))
        }
        remove(name)
        return nil
    }

    /// Reads the checkpoint of a file, without comparing the two.
    ///
    /// - Returns: `nil` if it is missing or damaged.
    /// - Throws: A transient defect.
    package func checkpoint(of name: String) throws(CacheFileDefect) -> Checkpoint? {
        try Self.checkpoint(of: name, in: directory)
    }

    /// Opens a cache file or a checkpoint.
    ///
    /// - Returns: `nil` if the file is missing, cannot be opened, or does not meet the expectation.
    /// - Throws: A transient defect.
    private static func open(
        _ path: FilePath, _ mode: FileDescriptor.AccessMode, expecting expectation: CacheExpectation
    ) throws(CacheFileDefect) -> CheckedFile? {
        do {
            return try CheckedFile(at: path, mode, expecting: expectation)
        } catch {
            if error.isTransient { throw error }
            return nil
        }
    }

    /// The maximum size of a checkpoint in bytes. For comparison: a 1 GiB file with every other block of 4 KiB missing
    /// has a checkpoint of 5.5 MiB at most.
    private static let largestCheckpoint: Int64 = 64 << 20

    /// Reads the checkpoint of a cache file, also in a process that does not write the cache.
    ///
    /// - Returns: `nil` if it is missing or damaged.
    /// - Throws: A transient defect.
    package static func checkpoint(of name: String, in directory: FilePath) throws(CacheFileDefect) -> Checkpoint? {
        let path = FilePath(Self.path(of: name, in: directory).string + ".json")
        guard let opened = try open(path, .readOnly, expecting: .file) else { return nil }
        defer { try? opened.descriptor.close() }
        guard opened.state.size <= largestCheckpoint else { return nil }
        var data = Data(count: Int(opened.state.size))
        let count = data.withUnsafeMutableBytes { try? opened.descriptor.readFully(into: $0, at: 0) }
        return count == data.count ? Checkpoint.decode(data) : nil
    }

    /// Writes a checkpoint to a temporary file, which then replaces the previous checkpoint atomically. Fills in the
    /// boot id and the file's state. If the cache file has been removed meanwhile, removes the checkpoint
    /// too; a first checkpoint that was written to a blank is not removed.
    ///
    /// The replaced checkpoint is not removed. The next checkpoint, of any cache file, overwrites it. Removing one file
    /// and creating another would be slow: on ext4 the creation of a file skips every inode that was freed within the
    /// last seconds. With many concurrent downloads that took a third of the daemon's CPU time.
    ///
    /// - Parameters:
    ///   - durably: Whether to return only when the checkpoint is on the disk: needed if it lists newly synced bytes.
    ///   - isFirst: Whether the file has no checkpoint yet.
    ///   - state: The state to record for a complete file; `nil` for its current one.
    package func save(
        _ checkpoint: Checkpoint, of file: CacheFile, durably: Bool = false, isFirst: Bool = false,
        state: FileState? = nil
    ) throws {
        var complete = checkpoint
        let state = try state ?? file.currentState()
        complete.bootID = bootID
        complete.inode = state.inode
        complete.state = complete.complete ? state : nil
        let data = try complete.encoded()
        let path = checkpointPath(file.name)
        if isFirst, try writeBlank(data, as: path, durably: durably) { return }
        let (spare, isNew) = reserve.withLock { reserve in
            reserve.spares.popLast().map { ($0, false) } ?? (reserve.name(Self.sparePrefix, in: directory), true)
        }
        var isSpare = true
        defer { if isSpare { reserve.withLock { $0.spares.append(spare) } } }
        // A new spare has no content that the truncation in `write` discards. So only a sync ensures that its rename
        // does not expose an empty checkpoint after a crash of the system.
        try Self.write(data, to: spare, durably: durably || isNew)
        if isFirst || clinux_exchange(spare.string, path.string) != 0 {
            // There is no previous checkpoint, or the file system cannot exchange two files.
            guard rename(spare.string, path.string) == 0 else { throw Errno(rawValue: errno) }
            isSpare = false
        }
        // `remove` unlinks the cache file before the checkpoint. If it ran meanwhile, either it has unlinked the new
        // checkpoint, or the cache file is already gone here.
        if !file.isLinked() { unlink(path.string) }
    }

    /// Writes a first checkpoint into a blank file.
    ///
    /// - Returns: `false` if there is no blank file or it could not be renamed; there is no checkpoint at `path` then.
    private func writeBlank(_ data: Data, as path: FilePath, durably: Bool) throws -> Bool {
        guard let blank = reserve.withLock({ $0.blanks.popLast() }) else { return false }
        var isPlaced = false
        defer { if !isPlaced { unlink(blank.path.string) } }
        try Self.write(data, to: blank.descriptor, durably: durably)
        isPlaced = rename(blank.path.string, path.string) == 0
        return isPlaced
    }

    /// Truncates and writes a file. If the truncation discards content, ext4 and XFS write the new content to the disk
    /// when the file is closed, so that a later rename cannot expose an empty file, even without a sync.
    private static func write(_ data: Data, to path: FilePath, durably: Bool) throws {
        let descriptor = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: [.ownerReadWrite])
        try write(data, to: descriptor, durably: durably)
    }

    /// Writes and closes a descriptor.
    private static func write(_ data: Data, to descriptor: FileDescriptor, durably: Bool) throws {
        try descriptor.closeAfter {
            _ = try data.withUnsafeBytes { try descriptor.writeAll($0) }
            if durably, fdatasync(descriptor.rawValue) != 0 { throw Errno(rawValue: errno) }
        }
    }

    /// Removes a file and its checkpoint. Readers that have the file open can continue to read it.
    package func remove(_ name: String) {
        unlink(Self.path(of: name, in: directory).string)
        unlink(checkpointPath(name).string)
    }

    /// Removes a file that has no reader, and its checkpoint. Acquires the exclusive lock of the file first, which
    /// fails while a reader has a lease (a shared lock). If there is no readable regular file with this name, removes
    /// whatever has the name, and the checkpoint, without the lock.
    ///
    /// - Returns: `false` if a reader has a lease, or may have one; nothing was removed then.
    package func evict(_ name: String) -> Bool {
        do throws(CacheFileDefect) {
            let file = try CheckedFile(at: Self.path(of: name, in: directory), .readWrite, expecting: .file)
            defer { try? file.descriptor.close() }
            guard clinux_ofd_lock(file.descriptor.rawValue, Int16(F_WRLCK)) == 0 else { return false }
            remove(name)
        } catch {
            // Whether a reader has a lease is unknown.
            if error.isTransient { return false }
            remove(name)
        }
        return true
    }

    /// Whether a reader has a lease on a file, or may have one. Only queries the lock. If it acquired the lock, a
    /// reader that opens the file at that moment would fail.
    package func hasReader(_ name: String) -> Bool {
        do throws(CacheFileDefect) {
            let file = try CheckedFile(at: Self.path(of: name, in: directory), .readWrite, expecting: .file)
            defer { try? file.descriptor.close() }
            return clinux_ofd_is_locked(file.descriptor.rawValue) == 1
        } catch {
            return error.isTransient
        }
    }

    /// Returns the names of all cache files, for comparison with the library when the daemon starts. Also removes the
    /// reserve, and the leftovers of a killed process: reserve files, and checkpoints without a cache file.
    package func names() -> [String] {
        removeReserve()
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: directory.string)) ?? []
        where entry.hasPrefix(Self.sparePrefix) || entry.hasPrefix(Self.blankPrefix) {
            unlink(directory.appending(entry).string)
        }
        let media = directory.appending("media").string
        var names: [String] = []
        for folder in (try? FileManager.default.contentsOfDirectory(atPath: media)) ?? [] {
            let entries = (try? FileManager.default.contentsOfDirectory(atPath: "\(media)/\(folder)")) ?? []
            let files = Set(entries.filter { !$0.contains(".") })
            for entry in entries where entry.hasSuffix(".json") && !files.contains(String(entry.dropLast(5))) {
                unlink("\(media)/\(folder)/\(entry)")
            }
            names += files
        }
        return names.sorted()
    }
}
