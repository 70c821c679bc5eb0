import Foundation
import Platform
import PodcastFeed
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import PodcastService
import SystemPackage
import Transfers

// Checks of the folders and files that podfs uses.
extension Doctor {
    // MARK: Folders

    /// Checks the owner, mode and writability of the folders, and the owner and mode of the files with secrets.
    func folders() -> [Finding] {
        let paths = installation.paths
        let files = [
            paths.library, paths.libraryBackup, paths.subscriptionsCopy, paths.credentials, paths.uploadCredentials,
        ]
        let found =
            [paths.data, paths.cache, paths.config, paths.state, paths.runtime].compactMap(examine(folder:))
            + files.compactMap(examine(file:))
        return found.isEmpty ? [.ok("folders", "\(paths.data), \(paths.cache), \(paths.state)")] : found
    }

    private func examine(file: String) -> Finding? {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        if status.st_uid != geteuid() { return Self.foreign(file, status) }
        guard status.st_mode & 0o077 != 0 else { return nil }
        return .problem(
            "folders", "\(file) is readable by other users", remedy: "chmod 600 \(ShellQuoting.quoted(file))")
    }

    /// Checks a folder. If it is missing, checks whether it can be created.
    ///
    /// - Returns: `nil` if there is no problem.
    private func examine(folder: String) -> Finding? {
        let change = "chmod 700 \(ShellQuoting.quoted(folder))"
        var status = stat()
        guard stat(folder, &status) == 0 else {
            // Another command creates the folder on demand, so the nearest existing parent must be writable.
            let above = Self.nearestExisting(folder)
            guard access(above + "/.", W_OK | X_OK) != 0 else { return nil }
            let code = errno
            return .problem(
                "folders", "\(folder) cannot be created: \(above): \(errnoText(code))",
                remedy: code == ENOENT
                    ? "\(above) is a symbolic link: mount the disk that it leads to, or remove it"
                    : "make \(above) writable, or set the XDG variables to other folders")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return .problem("folders", "\(folder) is not a folder", remedy: "move it away")
        }
        if status.st_uid != geteuid() { return Self.foreign(folder, status) }
        guard access(folder, R_OK | W_OK | X_OK) == 0 else {
            let code = errno
            return .problem(
                "folders", "\(folder) cannot be written: \(errnoText(code))",
                remedy: code == EROFS ? "remount the disk for writing" : change)
        }
        if status.st_mode & 0o022 != 0 {
            return .problem("folders", "\(folder) is writable by other users", remedy: change)
        }
        return status.st_mode & 0o055 == 0
            ? nil : .warning("folders", "\(folder) is readable by other users", remedy: change)
    }

    /// Returns the nearest existing folder on a path, or the symbolic link on the path whose target does not exist.
    private static func nearestExisting(_ path: String) -> String {
        var above = path
        var status = stat()
        while lstat(above, &status) != 0, above != "/" {
            above = URL(fileURLWithPath: above).deletingLastPathComponent().path
        }
        return above
    }

    /// Returns the finding for a file or folder that belongs to another user.
    private static func foreign(_ path: String, _ status: stat) -> Finding {
        .problem(
            "folders", "\(path) belongs to user \(status.st_uid), you are \(geteuid())",
            remedy: "chown -R \(geteuid()) \(ShellQuoting.quoted(path)); then run podfs without sudo")
    }

    func configuration() -> Finding {
        let file = installation.paths.configFile
        do {
            _ = try installation.configuration()
            let isThere = access(file, F_OK) == 0
            return .ok("configuration", isThere ? file : "\(file) does not exist: all settings have their defaults")
        } catch {
            return .problem("configuration", "\(error)", remedy: "correct it; podfs.conf(5) lists the keys")
        }
    }

    // MARK: Library

    func library() -> [Finding] {
        let paths = installation.paths
        let (age, backup) = self.backup()
        let (copy, listed) = (paths.subscriptionsCopy, subscriptionsCount)
        // What a daemon does that finds no sound library.
        let restoration =
            age.map { "restores the backup of \($0)" }
            ?? listed.flatMap { count in
                count == 0 ? nil : "subscribes again to the \(ReportText.count(count, "show")) that \(copy) lists"
            }
        let shows: Int
        do {
            let library = try Library.openForReading(at: paths.library)
            try library.check()
            shows = try library.folders().count
        } catch LibraryError.missing {
            if let restoration {
                return [
                    .warning(
                        "library", "\(paths.library) does not exist", remedy: "the next command \(restoration)")
                ]
            }
            if access(copy, F_OK) != 0 || listed != nil {
                return [.ok("library", "there is none yet; podfs subscribe URL creates it")]
            }
            return [
                .warning(
                    "library", "\(paths.library) does not exist, and \(copy) cannot be read",
                    remedy: "make the list readable, or correct it: the next daemon subscribes again to its shows")
            ]
        } catch LibraryError.damaged(_, let reason) {
            let remedy =
                restoration.map { "stop the daemon (podfs status shows its tasks); the next command \($0)" }
                ?? "there is no backup: rename the file and subscribe again"
            return [.problem("library", "\(paths.library) is damaged (\(reason))", remedy: remedy)]
        } catch {
            return [.problem("library", "\(error)", remedy: "see \(paths.log)")]
        }
        var found: [Finding] = [.ok("library", "\(ReportText.count(shows, "show")), sound")]
        if let backup {
            found.append(backup)
        } else if shows > 0 {
            found.append(
                .warning("backup", "there is none", remedy: "the daemon makes one every day and when it exits"))
        }
        if let listed {
            found.append(.ok("subscriptions", "\(listed) in \(copy)"))
        } else if access(copy, F_OK) == 0 {
            found.append(
                .warning(
                    "subscriptions", "\(copy) is damaged",
                    remedy: "the daemon renames it and writes a new one after the next change of the subscriptions"))
        } else if shows > 0 {
            found.append(
                .warning(
                    "subscriptions", "\(copy) does not exist",
                    remedy: "the daemon writes it after the next change of the subscriptions"))
        }
        do throws(CredentialFileError) {
            _ = try CredentialStore<ShowID>.reading(paths.credentials)
        } catch {
            let remedy =
                switch error {
                case .unreadable: CredentialStore<ShowID>.unreadableRemedy
                case .damaged: CredentialStore<ShowID>.remedy
                }
            found.append(.problem("credentials", "\(error)", remedy: remedy))
        }
        return found
    }

    /// Checks the library's backup. Returns its time as ISO 8601, `nil` if the backup is not usable, and the finding,
    /// `nil` if there is no backup.
    private func backup() -> (age: String?, finding: Finding?) {
        let path = installation.paths.libraryBackup
        var status = stat()
        guard stat(path, &status) == 0 else { return (nil, nil) }
        do {
            try Library.openForReading(at: path).check()
            let age = TimeText.iso8601(Int64(status.st_mtim.tv_sec))
            return (age, .ok("backup", "of \(age), sound"))
        } catch LibraryError.damaged(_, let reason) {
            let remedy = "remove it: the daemon makes a new one within a day"
            return (nil, .warning("backup", "\(path) is damaged (\(reason))", remedy: remedy))
        } catch {
            return (nil, .warning("backup", "\(error)", remedy: "make the file readable, or remove it"))
        }
    }

    /// The number of shows in the copy of the subscriptions; `nil` if it is missing or damaged.
    private var subscriptionsCount: Int? {
        guard let data = FileManager.default.contents(atPath: installation.paths.subscriptionsCopy) else { return nil }
        return (try? OPML.parse([UInt8](data)))?.subscriptions.count
    }

    // MARK: Cache

    /// Checks the size of the cached media against `cache.limit`, and the disk's free space against `cache.keep_free`.
    func cache() -> Finding {
        let folder = installation.paths.cache
        let limits = (try? installation.configuration().storage) ?? StorageLimits()
        let above = Self.nearestExisting(folder)
        let disk: DiskSpace
        do {
            disk = try DiskSpace(at: FilePath(above))
        } catch {
            return .problem("cache", "\(above): \(error)", remedy: "check whether its disk is mounted")
        }
        // Like the daemon's, the sum has neither art nor checkpoints.
        let used = (try? Library.openForReading(at: installation.paths.library).cachedBytes()) ?? 0
        let floor = limits.floor(total: disk.total)
        let sizes =
            "\(ByteText.size(used)) of \(ByteText.size(limits.capacity)), \(ByteText.size(disk.free)) free on the disk"
        let evict = "podfs evict PATH frees the space of an episode"
        if disk.free < floor {
            let message = "\(sizes); \(ByteText.size(floor)) must stay free (cache.keep_free)"
            let remedy = "downloads wait for space: free space on the disk, or set cache.keep_free to less"
            return used > 0
                ? .warning("cache", message, remedy: "the least recently opened episodes will be evicted; \(evict)")
                : .problem("cache", message, remedy: remedy)
        }
        if used > limits.capacity {
            return .problem(
                "cache", "\(sizes): more than cache.limit",
                remedy: "pinned and open episodes stay: podfs set EPISODE pinned=false, and \(evict); or raise "
                    + "cache.limit")
        }
        return .ok("cache", "\(sizes); \(evict)")
    }
}

// Checks of the archive.
extension Doctor {
    /// The maximum number of defective files that are listed.
    private static let mostFiles = 20

    /// Reports the state of the archive folder, as the daemon has last found it, and the files that people have removed
    /// or changed. Does not touch the folder, whose file system may be dead.
    func archive() -> [Finding] {
        guard let configuration = try? installation.configuration(), let folder = configuration.archiveFolder else {
            return [.ok("archive", "none; archive.folder in podfs.conf(5) names one")]
        }
        do {
            guard let library = try installation.library(), let record = try library.archiveFolder() else {
                return [.ok("archive", "\(folder), not examined yet; the daemon examines it when it starts")]
            }
            let backlog = try library.archiveBacklog(isDefault: configuration.archivesAll)
            let waiting =
                backlog.episodes == 0
                ? ""
                : ", \(ReportText.count(backlog.episodes, "episode")) (\(ByteText.size(backlog.bytes))) to be moved"
            let state =
                record.problem.map {
                    ($0, "mount its disk; podfs notices, and until then its episodes are read from their servers")
                }
                ?? record.hindrance.map {
                    ($0, "make room on its disk, or make it writable; podfs tries again within a quarter hour")
                }
            var found = state.map { [Finding.warning("archive", $0.0 + waiting, remedy: $0.1)] } ?? []
            let defects = try library.defectiveArchivedFiles()
            found += defects.prefix(Self.mostFiles).map { file in
                .warning(
                    "archive", "\(file.path): \(file.defect ?? "")",
                    remedy: "put the file back, or fetch the episode again: podfs download EPISODE")
            }
            if defects.count > Self.mostFiles {
                let rest = defects.count - Self.mostFiles
                found.append(
                    .warning("archive", "\(rest) more files are missing or changed", remedy: "put them back"))
            }
            return found.isEmpty ? [.ok("archive", record.path + waiting)] : found
        } catch {
            return [.problem("archive", "\(CommandError(error))", remedy: "see the finding about the library")]
        }
    }

    // MARK: Verification

    /// Has the daemon, the only writer of the cache and of the archive, read every complete file and compare its digest
    /// with the one that was recorded when its download finished. The daemon evicts the damaged files of the cache.
    func verification() async -> [Finding] {
        let line = ProgressLine()
        defer { line.finish() }
        do {
            let daemon = try installation.daemon()
            defer { daemon.close() }
            let library = try installation.existingLibrary()
            /// - Parameter remedy: Returns the remedy for a file with a problem.
            func verify(
                _ check: String, _ noun: String, _ files: [(episode: EpisodeID, path: String, size: Int64)],
                remedy: (EpisodeID) throws -> String
            ) async throws -> [Finding] {
                var found: [Finding] = []
                var bytes: Int64 = 0
                for (index, file) in files.enumerated() {
                    line.show("verifying \(ProgressText.count(index + 1, of: files.count, file.path))")
                    for problem in try await daemon.perform(.verify(episodes: [file.episode]), \.acted).problems {
                        found.append(
                            .problem(check, "\(file.path): \(problem)", remedy: try remedy(file.episode)))
                    }
                    bytes += file.size
                }
                let good = ReportText.count(files.count - found.count, noun)
                return found + [.ok(check, "\(good) verified, \(ByteText.size(bytes)) read")]
            }
            let cached = try library.renditions().filter(\.complete).map {
                ($0.episode, try library.path(of: $0.episode) ?? "", $0.size ?? 0)
            }
            let found = try await verify("episodes", "cached episode", cached) { episode in
                // The daemon does not evict a file that it could not check, for lack of memory for example.
                try library.rendition(of: episode)?.complete == true
                    ? "podfs doctor --verify again" : "it was evicted, and is fetched again when it is read"
            }
            guard try library.hasArchivedFiles() else { return found }
            if let problem = try library.archiveFolder()?.problem {
                let remedy = "mount its disk, then podfs doctor --verify again"
                return found + [.warning("archived", problem, remedy: remedy)]
            }
            let archived = try library.archivedFiles(after: "", limit: .max).compactMap { file in
                file.episode.map { ($0, file.path, file.size) }
            }
            return try await found
                + verify("archived", "archived episode", archived) { _ in
                    "put a good copy there, or fetch the episode again: podfs download EPISODE"
                }
        } catch {
            return [.problem("episodes", "\(CommandError(error))", remedy: "then podfs doctor --verify again")]
        }
    }
}
