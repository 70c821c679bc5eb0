import CLinux
import Foundation
import Glibc
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
        var found: [Finding] = []
        for folder in [paths.data, paths.cache, paths.config, paths.state, paths.runtime] {
            if let finding = examine(folder: folder) { found.append(finding) }
        }
        let files = [
            paths.library, paths.libraryBackup, paths.subscriptionsCopy, paths.credentials, paths.uploadCredentials,
        ]
        for file in files {
            var status = stat()
            guard stat(file, &status) == 0 else { continue }
            if status.st_uid != geteuid() {
                found.append(Self.foreign(file, status))
            } else if status.st_mode & 0o077 != 0 {
                found.append(
                    .problem(
                        "folders", "\(file) is readable by other users",
                        remedy: "chmod 600 \(ShellQuoting.quoted(file))"))
            }
        }
        if found.isEmpty { found = [.ok("folders", "\(paths.data), \(paths.cache), \(paths.state)")] }
        return found
    }

    /// Checks a folder. If it is missing, checks whether it can be created.
    ///
    /// - Returns: `nil` if there is no problem.
    private func examine(folder: String) -> Finding? {
        var status = stat()
        guard stat(folder, &status) == 0 else {
            // Another command creates the folder on demand, so the nearest existing parent must be writable.
            let above = Self.nearestExisting(folder)
            let code =
                if stat(above, &status) != 0 {
                    errno
                } else if status.st_mode & S_IFMT != S_IFDIR {
                    ENOTDIR
                } else {
                    access(above, W_OK | X_OK) == 0 ? 0 : errno
                }
            if code == 0 { return nil }
            let remedy =
                code == ENOENT
                ? "\(above) is a symbolic link: mount the disk that it leads to, or remove it"
                : "make \(above) writable, or set the XDG variables to other folders"
            return .problem(
                "folders", "\(folder) cannot be created: \(above): \(errnoText(code))", remedy: remedy)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return .problem("folders", "\(folder) is not a folder", remedy: "move it away")
        }
        if status.st_uid != geteuid() { return Self.foreign(folder, status) }
        guard access(folder, R_OK | W_OK | X_OK) == 0 else {
            let code = errno
            return .problem(
                "folders", "\(folder) cannot be written: \(errnoText(code))",
                remedy: code == EROFS ? "remount the disk for writing" : "chmod 700 \(ShellQuoting.quoted(folder))")
        }
        if status.st_mode & 0o022 != 0 {
            return .problem(
                "folders", "\(folder) is writable by other users", remedy: "chmod 700 \(ShellQuoting.quoted(folder))")
        }
        if status.st_mode & 0o055 != 0 {
            return .warning(
                "folders", "\(folder) is readable by other users", remedy: "chmod 700 \(ShellQuoting.quoted(folder))")
        }
        return nil
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
        let backup = Self.check(paths.libraryBackup)
        let library: Library
        do {
            library = try Library.openForReading(at: paths.library)
            try library.check()
        } catch LibraryError.missing {
            if case .sound(let age)? = backup {
                return [
                    .warning(
                        "library", "\(paths.library) does not exist",
                        remedy: "the next command restores the backup of \(age)")
                ]
            }
            if access(paths.subscriptionsCopy, F_OK) == 0, subscriptionsCount == nil {
                return [
                    .warning(
                        "library", "\(paths.library) does not exist, and \(paths.subscriptionsCopy) cannot be read",
                        remedy: "make the list readable, or correct it: the next daemon subscribes again to its shows")
                ]
            }
            guard let count = subscriptionsCount, count > 0 else {
                return [.ok("library", "there is none yet; podfs subscribe URL creates it")]
            }
            return [
                .warning(
                    "library", "\(paths.library) does not exist",
                    remedy: "the next command subscribes again to the \(count) show\(count == 1 ? "" : "s") that "
                        + "\(paths.subscriptionsCopy) lists")
            ]
        } catch LibraryError.damaged(_, let reason) {
            let remedy =
                if case .sound(let age)? = backup {
                    "stop the daemon (podfs status shows its tasks); the next command restores the backup of \(age) "
                        + "and renames the damaged file"
                } else if access(paths.subscriptionsCopy, R_OK) == 0 {
                    "stop the daemon; the next command subscribes again to the shows in \(paths.subscriptionsCopy)"
                } else {
                    "there is no backup: rename the file and subscribe again"
                }
            return [.problem("library", "\(paths.library) is damaged (\(reason))", remedy: remedy)]
        } catch {
            return [.problem("library", "\(error)", remedy: "see \(paths.log)")]
        }
        let shows = (try? library.folders().count) ?? 0
        let summary = "\(shows) show\(shows == 1 ? "" : "s"), sound"
        var found: [Finding] = [.ok("library", summary)]
        switch backup {
        case .sound(let age): found.append(.ok("backup", "of \(age), sound"))
        case .damaged(let reason):
            found.append(
                .warning(
                    "backup", "\(paths.libraryBackup) is damaged (\(reason))",
                    remedy: "remove it: the daemon makes a new one within a day"))
        case .unreadable(let reason):
            found.append(.warning("backup", reason, remedy: "make the file readable, or remove it"))
        case nil where shows > 0:
            found.append(
                .warning("backup", "there is none", remedy: "the daemon makes one every day and when it exits"))
        case nil: break
        }
        if let finding = subscriptionsCopy(shows: shows) { found.append(finding) }
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

    /// The state of the library's backup.
    private enum Backup {
        /// The backup is usable. The text is its mtime, as ISO 8601.
        case sound(String)
        /// The backup is not usable, for the reason in the text.
        case damaged(String)
        /// The backup cannot be read, for the reason in the text.
        case unreadable(String)
    }

    /// Checks a backup; `nil` if it does not exist.
    private static func check(_ path: String) -> Backup? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        do {
            try Library.openForReading(at: path).check()
            return .sound(TimeText.iso8601(Int64(status.st_mtim.tv_sec)))
        } catch LibraryError.damaged(_, let reason) {
            return .damaged(reason)
        } catch {
            return .unreadable("\(error)")
        }
    }

    /// Checks the copy of the subscriptions, from which a lost library is restored.
    ///
    /// - Parameter shows: The number of shows in the library.
    private func subscriptionsCopy(shows: Int) -> Finding? {
        let path = installation.paths.subscriptionsCopy
        guard access(path, F_OK) == 0 else {
            if shows == 0 { return nil }
            return .warning(
                "subscriptions", "\(path) does not exist",
                remedy: "the daemon writes it after the next change of the subscriptions")
        }
        guard let count = subscriptionsCount else {
            return .warning(
                "subscriptions", "\(path) is damaged",
                remedy: "the daemon renames it and writes a new one after the next change of the subscriptions")
        }
        return .ok("subscriptions", "\(count) in \(path)")
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
            var found: [Finding] = []
            if let problem = record.problem {
                found.append(
                    .warning(
                        "archive", problem + waiting,
                        remedy: "mount its disk; podfs notices, and until then its episodes are read from their servers"
                    ))
            } else if let hindrance = record.hindrance {
                found.append(
                    .warning(
                        "archive", hindrance + waiting,
                        remedy: "make room on its disk, or make it writable; podfs tries again within a quarter hour"))
            }
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
}
