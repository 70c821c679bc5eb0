import CLinux
import ContentCache
import Foundation
import Glibc
import Platform
import PodcastLibrary
import SystemPackage
import TransferCore

/// The completely cached episodes of a show, to be saved in another folder before the show is removed.
///
/// A file is hard-linked if the folder is on the cache's file system, which takes no time and no space; otherwise it is
/// copied. Complete cache files are never written again, so a link is as good as a copy.
struct SavedEpisodes {
    private struct Item {
        /// The path of the cache file.
        var source: String
        /// The name of the cache file.
        var file: String
        /// The path of the saved file.
        var target: String
        var size: Int64
        /// The recorded state of the cache file; `nil` if an earlier version of podfs has recorded none.
        var state: FileState?
        /// The mtime of the saved file, in seconds since 1970.
        var modified: Int64
    }

    /// The kind of file at the path to which an episode is saved.
    private enum Target {
        case nothing
        /// A hard link to the cache file.
        case link
        /// A copy, made by an earlier call.
        case copy
        case foreign
    }

    /// The suffix of a file's name while the file is being copied.
    private static let partialSuffix = ".podfs"

    let folder: String
    private let items: [Item]

    var count: Int { items.count }

    /// Lists the episodes; creates no file.
    ///
    /// - Parameter cache: The cache's folder.
    /// - Throws: `CommandError` if another file of the same name exists in `folder`.
    init(of podcast: ShowID, to folder: String, library: Library, cache: String) throws {
        self.folder = folder
        items = try library.episodes(of: podcast).compactMap { episode in
            guard let rendition = try library.rendition(of: episode.id), rendition.complete else { return nil }
            return Item(
                source: ContentCache.path(of: rendition.file, in: FilePath(cache)).string, file: rendition.file,
                target: "\(folder)/\(episode.name)", size: rendition.size ?? episode.size.bytes,
                state: rendition.fileState.flatMap(FileState.init(text:)),
                modified: episode.published ?? episode.firstSeen)
        }
        for item in items where Self.target(of: item) == .foreign { throw Self.exists(item) }
    }

    /// Returns what is at the path of a file to save. A copy is recognized by its size and its mtime, since a partial
    /// copy has another name.
    private static func target(of item: Item) -> Target {
        var (found, cached) = (stat(), stat())
        guard lstat(item.target, &found) == 0 else { return .nothing }
        if stat(item.source, &cached) == 0, (found.st_dev, found.st_ino) == (cached.st_dev, cached.st_ino) {
            return .link
        }
        // The file system of a memory card (FAT) has a resolution of two seconds.
        let isCopy =
            found.st_mode & S_IFMT == S_IFREG && Int64(found.st_size) == item.size
            && (item.modified - 1...item.modified + 1).contains(Int64(found.st_mtim.tv_sec))
        return isCopy ? .copy : .foreign
    }

    private static func exists(_ item: Item) -> CommandError {
        CommandError(.failed, "\(item.target) exists already: choose another folder, or move it away")
    }

    /// Creates the folder and the files. The files created before an error stay; the next call creates the others.
    func save(cache: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Two commands with the same partial file would damage each other's copy. Some file systems have no such locks.
        let lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0 else { throw Self.problem(folder) }
        defer { close(lock) }
        if flock(lock, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
            throw CommandError(.failed, "\(folder): another podfs command saves episodes in it; try again later")
        }
        for item in items {
            switch Self.target(of: item) {
            case .nothing: break
            case .copy: continue
            case .link:
                try setAttributes(of: item, at: item.target)
                continue
            case .foreign: throw Self.exists(item)
            }
            // The reader's lease prevents the daemon from evicting the file.
            let reader: MediaReader
            do {
                reader = try MediaReader(
                    name: item.file, in: FilePath(cache), expecting: .recorded(item.state, size: item.size))
            } catch let defect where defect != .missing {
                throw CommandError(.failed, "\(item.target): \(defect) in the cache: podfs doctor --verify")
            } catch {
                throw CommandError(.failed, "\(item.target): it has just been evicted; try again")
            }
            if link(item.source, item.target) != 0 {
                guard errno != EEXIST else { throw Self.problem(item.target) }
                try copy(item, from: reader)
            } else {
                try setAttributes(of: item, at: item.target)
            }
            withExtendedLifetime(reader) {}
        }
    }

    /// Sets the mode and the mtime of a file to save. A hard link shares them with the cache file, which then differs
    /// from its recorded state (`FileState`). If the show is not removed after all, the daemon verifies the file before
    /// it serves it again.
    private func setAttributes(of item: Item, at path: String) throws {
        // The mode that programs usually give a new file.
        let mask = umask(0)
        umask(mask)
        let published = timespec(tv_sec: Int(item.modified), tv_nsec: 0)
        let times = [published, published]
        guard chmod(path, 0o666 & ~mask) == 0, utimensat(AT_FDCWD, path, times, 0) == 0 else {
            throw Self.problem(item.target)
        }
    }

    private func copy(_ item: Item, from reader: MediaReader) throws {
        let partial = item.target + Self.partialSuffix
        // A killed command may have left one.
        unlink(partial)
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.problem(partial) }
        var isDone = false
        defer {
            close(descriptor)
            if !isDone { unlink(partial) }
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while true {
            let count = try reader.read(into: buffer, at: position)
            if count == 0 { break }
            guard writeAll(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: descriptor) else {
                throw Self.problem(item.target)
            }
            position += Int64(count)
        }
        guard position == item.size else {
            throw CommandError(.failed, "\(item.target): the cache has \(position) of \(item.size) bytes")
        }
        guard fsync(descriptor) == 0 else { throw Self.problem(item.target) }
        try setAttributes(of: item, at: partial)
        guard rename(partial, item.target) == 0 else { throw Self.problem(item.target) }
        isDone = true
    }

    private static func problem(_ path: String) -> CommandError {
        CommandError(.failed, "\(path): \(String(cString: strerror(errno)))")
    }
}
