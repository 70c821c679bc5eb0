import CLinux
import Foundation
import Platform
import PodcastFeed
import PodcastLibrary
import Transfers

/// A search for media files below a folder. It follows no symbolic link, does not enter mounts of podfs, and changes
/// nothing.
struct MediaFinder {
    /// The files found, and those that cannot be used, with the reason.
    private(set) var files: [AdoptableFile] = []
    private(set) var problems: [(path: String, reason: String)] = []
    /// The number of files that are not media.
    private(set) var others = 0
    /// The number of files that podfs uses already.
    private(set) var known = 0

    /// The absolute path of the folder to search.
    let root: String
    /// The absolute paths of folders that are not searched, such as podfs's own cache.
    let excluding: Set<String>
    /// Whether podfs uses a file already, by its path below the root.
    let isKnown: (String) -> Bool
    /// Called with the number of files found so far.
    let progress: (Int) -> Void
    private var name: String { root.split(separator: "/").last.map(String.init) ?? "/" }

    /// Searches the folder. Throws if it cannot be read at all.
    mutating func run() throws {
        var status = stat()
        guard stat(root, &status) == 0 else { throw CommandError(.failed, "\(root): \(errnoText())") }
        guard clinux_is_directory(status.st_mode) != 0 else { throw CommandError(.failed, "\(root) is not a folder") }
        // A stack of folders rather than a recursion: a hostile tree may be thousands of folders deep.
        var folders: [(path: String, device: dev_t)] = [("", status.st_dev)]
        while let folder = folders.popLast() {
            let path = absolute(folder.path)
            if excluding.contains(path) { continue }
            guard let entries = try? FileManager.default.contentsOfDirectory(atPath: path) else {
                if folder.path.isEmpty { throw CommandError(.failed, "\(root) cannot be read: \(errnoText())") }
                problems.append((folder.path, "the folder cannot be read: \(errnoText())"))
                continue
            }
            let names = entries.sorted().filter { !$0.hasPrefix(".") }
            let below = names.compactMap { name in
                examine(folder.path.isEmpty ? name : "\(folder.path)/\(name)", parent: folder.device)
            }
            folders += below.reversed()
        }
    }

    private func absolute(_ path: String) -> String {
        path.isEmpty ? root : root == "/" ? "/" + path : "\(root)/\(path)"
    }

    /// Examines an entry: adds a media file to `files`, and returns a folder to search.
    private mutating func examine(_ path: String, parent: dev_t) -> (path: String, device: dev_t)? {
        var status = stat()
        guard lstat(absolute(path), &status) == 0 else {
            problems.append((path, errnoText()))
            return nil
        }
        if clinux_is_directory(status.st_mode) != 0 {
            // Only a mount has another device than its parent.
            if status.st_dev != parent, MountEntry.at(absolute(path))?.isPodfs ?? false { return nil }
            return (path, status.st_dev)
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard AdoptableFile.mayBeMedia(name) else {
            others += 1
            return nil
        }
        if status.st_mode & S_IFMT == S_IFLNK {
            problems.append((path, "it is a symbolic link: the file that it leads to is not looked at"))
        } else if status.st_mode & S_IFMT != S_IFREG {
            others += 1
        } else if isKnown(path) {
            known += 1
        } else {
            read(path, name: name)
        }
        return nil
    }

    private mutating func read(_ path: String, name: String) {
        let descriptor = open(absolute(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return problems.append((path, "it cannot be read: \(errnoText())")) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return problems.append((path, errnoText())) }
        let size = Int64(status.st_size)
        let media = MediaBytes(size: size) { offset, count in
            [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                let count = retryingInterrupts { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
                filled = max(0, count)
            }
        }
        let head = media.bytes(at: 0, upTo: BodyContent.window)
        guard !head.isEmpty else { return problems.append((path, "it is empty")) }
        let hasExtension = !NSString(string: name).pathExtension.isEmpty
        var format: MediaFormat?
        switch BodyContent(head, isWhole: Int64(head.count) == size) {
        case .document(let document) where hasExtension:
            return problems.append((path, "it is \(document.rawValue), not media"))
        // Many files without an extension are texts.
        case .document: return others += 1
        case .media(let found): format = found
        case .binary, nil: break
        }
        guard hasExtension || format != nil else { return others += 1 }
        var folders = [self.name]
        folders += path.split(separator: "/").dropLast().map(String.init)
        files.append(
            AdoptableFile(path: path, folders: folders, size: size, format: format, tags: MediaTags(of: media)))
        progress(files.count)
    }
}
