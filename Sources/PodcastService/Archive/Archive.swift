internal import Foundation
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The archive folder: whether it can be used now, and the files in it.
///
/// All calls on the folder run on `queue`, so that a dead disk or server delays nothing else.
@ServiceActor
final class Archive: ServicePart {
    nonisolated let driver: CoreDriver
    /// The calls on the folder; `nil` if there is no archive.
    let folder: ArchiveFolder?
    nonisolated let queue: StallingQueue
    private(set) var state: ArchiveState

    init(_ driver: CoreDriver) {
        self.driver = driver
        let configuration = driver.context.configuration
        folder = configuration.archiveFolder.map { ArchiveFolder(path: $0, cache: configuration.paths.cache) }
        queue = StallingQueue(name: "podfs-archive", deadline: configuration.archiveDeadline, hasLowPriority: true)
        state = folder == nil ? .unset : .unknown
    }

    // MARK: The folder

    /// The maximum time for a look at the folder, since an open may wait for it.
    private static let probeDeadline = Duration.seconds(5)

    /// Looks at the folder, and records whether it can be used.
    @discardableResult
    func check() async -> ArchiveState {
        guard let folder else { return state }
        do {
            let known = try library.archiveFolder()
            let hasFiles = try library.hasArchivedFiles()
            var found = (state: ArchiveState.offline("\(folder.path): \(StallingQueue.Stalled())"), id: String?.none)
            do {
                found = try await queue.run(deadline: Self.probeDeadline) {
                    folder.examine(known: known?.marker, hasFiles: hasFiles)
                }
            } catch is StallingQueue.Stalled {}
            // Mounts and commands read the record.
            var record = known
            if let id = found.id {
                let owner = known?.owner ?? UUID().uuidString.lowercased()
                record = ArchiveFolderRecord(
                    path: folder.path, marker: id, owner: owner, hindrance: known?.hindrance)
            }
            record?.path = folder.path
            record?.problem = found.state.readProblem
            if let record, record != known { try library.record(record) }
            return adopt(found.state)
        } catch {
            return adopt(.offline("\(error)"))
        }
    }

    private func adopt(_ found: ArchiveState) -> ArchiveState {
        guard found != state else { return state }
        state = found
        switch found {
        case .online: log.info("the archive \(folder?.path ?? "") is online")
        case .readOnly(let reason), .offline(let reason): log.warning("the archive: \(reason)")
        case .unset, .unknown: break
        }
        return found
    }

    /// Runs `body` on the queue with the open folder. Throws an `Errno` of `body` as an `ArchiveError` about `subject`.
    func withFolder<Value: Sendable>(
        for subject: String, _ body: @escaping @Sendable (OpenFolder, _ owner: String) throws -> Value
    ) async throws -> Value {
        if state == .unknown { await check() }
        guard let folder, state.readProblem == nil, let record = try library.archiveFolder() else {
            throw ArchiveError.unavailable(state.writeProblem ?? "there is no archive")
        }
        do {
            return try await queue.run { try body(folder.open(record.marker), record.owner) }
        } catch is StallingQueue.Stalled {
            throw ArchiveError.unavailable("\(folder.path): \(StallingQueue.Stalled())")
        } catch let error as Errno {
            throw ArchiveError(error, subject)
        }
    }

    // MARK: Files

    /// Adds a complete file to the archive as the file of an episode. The file itself stays where it is. If the
    /// episode has a file in the cache, removes that one.
    ///
    /// - Parameters:
    ///   - path: A cache file, or a file anywhere else.
    ///   - sha256: The expected digest; `nil` if it is not known.
    ///   - begin: Called on the archive's thread before each part is copied. It may wait for more urgent work, for less
    ///     than `archiveDeadline`.
    /// - Throws: `ArchiveError`, also if a program has the episode open; the library's errors.
    @discardableResult
    func store(
        fileAt path: String, size: Int64, sha256: String? = nil, of episode: EpisodeID,
        begin: @escaping @Sendable () -> Void = {}
    ) async throws -> ArchivedFile {
        if state == .unknown { await check() }
        if let problem = state.writeProblem { throw ArchiveError.unavailable(problem) }
        guard let row = try library.episode(id: episode), let show = try library.folder(id: row.podcast) else {
            throw LibraryError.noSuchEpisode(episode)
        }
        guard try !isRead(episode) else { throw ArchiveError.refused("a program has it open") }
        let file = try await withFolder(for: "\(show.name)/\(row.name)") { [library, queue] folder, owner in
            try folder.store(
                fileAt: path, size: size, sha256: sha256, as: row.name, in: show.name,
                modified: row.published ?? row.firstSeen, owner: owner,
                isFree: { path in
                    let known = try? library.archivedFile(path: path)
                    return known == nil || known?.episode == nil || known?.episode == episode
                },
                begin: {
                    begin()
                    queue.beat()
                },
                progress: { _ in queue.beat() })
        }
        try serve(file, as: episode)
        return file
    }

    /// Whether a program has an episode open, which it may have opened before the file was complete. Its reads are then
    /// answered by way of the cache file.
    func isRead(_ episode: EpisodeID) throws -> Bool {
        if driver.clients.openEpisodes.contains(episode) { return true }
        guard let rendition = try library.rendition(of: episode), rendition.archived == nil else { return false }
        return engine.cache.hasReader(rendition.file)
    }

    /// Writes a small file beside an episode, unless there is one.
    func add(_ bytes: [UInt8], as name: String, beside file: ArchivedFile) async throws {
        try await withFolder(for: "\(file.folder)/\(name)") { folder, owner in
            try folder.add(bytes, as: name, in: file.folder, owner: owner)
        }
    }

    /// Serves an episode from an archived file that is known to be complete.
    func serve(_ file: ArchivedFile, as episode: EpisodeID) throws {
        driver.drainEvents()
        let cacheFile = try library.archive(file, as: episode, now: now())
        engine.discard(MediaID(episode))
        if let cacheFile { engine.cache.remove(cacheFile) }
        driver.report(.ended(MediaID(episode)), .changedEpisode(episode))
    }
}

extension Archive {
    /// Adds a file that another program has downloaded to the archive, as the file of an episode.
    ///
    /// - Parameters:
    ///   - path: An absolute path, or a path relative to the archive folder for a file that is in it.
    ///   - size: The size in bytes of a file elsewhere.
    func adopt(_ path: String, size: Int64, as episode: EpisodeID) async throws -> Reply {
        guard let row = try library.episode(id: episode) else { throw LibraryError.noSuchEpisode(episode) }
        if row.complete { throw Failure(message: "the episode is downloaded already") }
        // A person who runs the command again may have attached the disk.
        if state.writeProblem != nil { await check() }
        do {
            if path.hasPrefix("/") {
                return .adopted(path: try await store(fileAt: path, size: size, of: episode).path)
            }
            guard !path.split(separator: "/").contains("..") else {
                throw ArchiveError.refused("\(path): is not a path")
            }
            if let known = try library.archivedFile(path: path), known.episode != nil {
                throw ArchiveError.refused("it is the file of another episode")
            }
            let file = try await withFolder(for: path) { [queue] folder, _ in
                try folder.examine(path) { _ in queue.beat() }
            }
            try serve(file, as: episode)
            return .adopted(path: file.path)
        } catch let error as ArchiveError {
            // The client ends at an error of the archive itself, since it would recur with every file.
            let number: Int32 =
                switch error {
                case .full: ENOSPC
                case .unavailable: EIO
                case .refused, .damaged: 0
                }
            throw Failure(errorNumber: number, message: error.description)
        }
    }
}

/// The reason why a file could not be added to the archive.
enum ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The folder cannot be used now: no file can be added.
    case unavailable(String)
    /// The archive's disk is full.
    case full
    /// This file cannot be added: the reason as text.
    case refused(String)
    /// The source does not have the recorded content.
    case damaged

    var description: String {
        switch self {
        case .unavailable(let reason), .refused(let reason): reason
        case .full: "the archive's disk is full"
        case .damaged: "its content is not what was downloaded"
        }
    }

    /// Classifies the error of a system call.
    init(_ error: Errno, _ path: String) {
        self =
            switch error {
            case .noSpace, .diskQuotaExceeded: .full
            case .readOnlyFileSystem, .permissionDenied, .notPermitted, .ioError, .staleNFSFileHandle,
                .operationNotSupportedByDevice,
                .socketNotConnected, .hostIsDown, .noRouteToHost, .timedOut:
                .unavailable("\(path): \(errnoText(error.rawValue))")
            default: .refused("\(path): \(errnoText(error.rawValue))")
            }
    }
}

extension ArchivedFile {
    /// The first and the other components of the path: those of the show and, in it, of the episode.
    var folder: String { String(path.prefix { $0 != "/" }) }
    var name: String { String(path.drop { $0 != "/" }.dropFirst()) }
}
