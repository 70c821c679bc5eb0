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

    let folder: String
    private let items: [Item]

    var count: Int { items.count }

    /// Lists the episodes; creates no file.
    ///
    /// - Parameter cache: The cache's folder.
    /// - Throws: `CommandError` if a file of the same name already exists in `folder`.
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
        for item in items where access(item.target, F_OK) == 0 {
            throw CommandError(.failed, "\(item.target) exists already: choose another folder, or move it away")
        }
    }

    /// Creates the folder and the files. The files created before an error stay.
    func save(cache: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for item in items {
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
            }
            try setAttributes(of: item)
            withExtendedLifetime(reader) {}
        }
    }

    /// Sets the mode and the mtime of a saved file. A hard link shares them with the cache file, which then differs
    /// from its recorded state (`FileState`). If the show is not removed after all, the daemon verifies the file before
    /// it serves it again.
    private func setAttributes(of item: Item) throws {
        // The mode that programs usually give a new file.
        let mask = umask(0)
        umask(mask)
        let published = timespec(tv_sec: Int(item.modified), tv_nsec: 0)
        let times = [published, published]
        guard chmod(item.target, 0o666 & ~mask) == 0, utimensat(AT_FDCWD, item.target, times, 0) == 0 else {
            throw Self.problem(item.target)
        }
    }

    private func copy(_ item: Item, from reader: MediaReader) throws {
        let partial = item.target + ".part"
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
        guard fsync(descriptor) == 0, rename(partial, item.target) == 0 else { throw Self.problem(item.target) }
        isDone = true
    }

    private static func problem(_ path: String) -> CommandError {
        CommandError(.failed, "\(path): \(String(cString: strerror(errno)))")
    }
}
