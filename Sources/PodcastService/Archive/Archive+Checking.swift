internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

// The comparison of the archive's files with the library. People rename, tag, remove and restore files; podfs never
// replaces or removes one.
extension Archive {
    /// The result of comparing one file with its row.
    private enum Comparison: Sendable {
        case same
        /// The content is the recorded one, at this path and with this state.
        case found(path: String, state: String)
        case defect(String)
    }

    private nonisolated static let missing = "the file is missing"
    private nonisolated static let changed = "the file was changed"

    /// Removes unfinished files, and compares the names in the archive with the library: finds renamed and restored
    /// files by their content, and records missing ones.
    func reconcile() async throws {
        try await withFolder(for: "the archive") { folder, owner in try folder.removePartials(owner: owner) }
        for name in try library.archiveFolderNames() {
            let files = try library.archivedFiles(in: name)
            let present = try await names(in: name)
            for file in files where present.contains(file.name) == (file.defect != nil) {
                try await check(file)
            }
            await Task.yield()
        }
    }

    /// Returns the names of the files in a folder of the archive; none if it is missing.
    func names(in folder: String) async throws -> Set<String> {
        try await withFolder(for: folder) { archive, _ in
            do throws(Errno) {
                return Set(try OpenFolder(folder, in: archive).names())
            } catch .noSuchFileOrDirectory {
                return []
            }
        }
    }

    /// Compares an episode's file with the library after a mount could not open it. Afterwards, the episode is served
    /// from the archive if that is possible, otherwise as if it were not cached.
    func examine(_ episode: EpisodeID) async throws {
        await check()
        guard let rendition = try library.rendition(of: episode), rendition.archived != nil,
            let file = try library.archivedFile(of: episode)
        else { return }
        do {
            try await check(file)
        } catch is ArchiveError {
            try library.detachArchived(episode, now: now())
        }
        driver.changed(episode: episode)
    }

    /// Reads an episode's file completely.
    ///
    /// - Returns: The defect; `nil` if there is none, or if the episode has no archived file.
    func verify(_ episode: EpisodeID) async throws -> String? {
        guard let file = try library.archivedFile(of: episode) else { return nil }
        if let problem = state.readProblem { return problem }
        return try await check(file, readsAll: true)
    }

    /// Compares one file with its row, and records the result.
    ///
    /// - Parameter readsAll: Whether to read the file even if its size and mtime are as recorded.
    /// - Returns: The defect; `nil` if the content exists.
    @discardableResult
    private func check(_ file: ArchivedFile, readsAll: Bool = false) async throws -> String? {
        let known = try Set(library.archivedFiles(in: file.folder).map(\.path))
        let result = try await withFolder(for: file.path) { [queue] folder, _ in
            try Self.compare(file, known: known, readsAll: readsAll, in: folder) { queue.beat() }
        }
        switch result {
        case .same: return nil
        case .found(let path, let state):
            try library.updateArchived(path: file.path, to: path, fileState: state)
            if path != file.path { log.info("archived: \(file.path) is now \(path)") }
            if let episode = file.episode { driver.changed(episode: episode) }
            return nil
        case .defect(let defect):
            if defect != file.defect {
                log.warning("archived: \(file.path): \(defect)")
                try library.recordDefect(defect, ofArchived: file.path, now: now())
                if let episode = file.episode { driver.changed(episode: episode) }
            }
            return defect
        }
    }

    private nonisolated static func compare(
        _ file: ArchivedFile, known: Set<String>, readsAll: Bool, in folder: OpenFolder, beat: () -> Void
    ) throws -> Comparison {
        var defect = missing
        do throws(Errno) {
            let descriptor = try folder.openFile(file.path)
            defer { try? descriptor.close() }
            let state = try FileState(of: descriptor)
            if let recorded = file.fileState.flatMap(FileState.init(text:)), !readsAll, file.defect == nil,
                recorded.size == state.size, recorded.modified == state.modified
            {
                return .same
            }
            if state.size == file.size, try hash(descriptor, state.size, beat) == file.sha256 {
                return .found(path: file.path, state: state.text)
            }
            defect = changed
        } catch {
            // A missing file may have been renamed.
            if error != .noSuchFileOrDirectory { throw error }
        }
        let show = file.folder
        guard let names = try? OpenFolder(show, in: folder).names() else { return .defect(defect) }
        for name in names.sorted() where !name.hasPrefix(".") && !known.contains("\(show)/\(name)") {
            let path = "\(show)/\(name)"
            guard let descriptor = try? folder.openFile(path) else { continue }
            defer { try? descriptor.close() }
            beat()
            guard let state = try? FileState(of: descriptor), state.size == file.size,
                (try? hash(descriptor, state.size, beat)) == file.sha256
            else { continue }
            return .found(path: path, state: state.text)
        }
        return .defect(defect)
    }

    private nonisolated static func hash(
        _ descriptor: FileDescriptor, _ size: Int64, _ beat: () -> Void
    ) throws(Errno) -> String {
        try FileDigest.digest(.sha256, of: descriptor, size: size) { _ in beat() }
    }
}
