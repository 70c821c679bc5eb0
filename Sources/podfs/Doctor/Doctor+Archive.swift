import Platform
import PodcastLibrary

// Checks of the archive.
extension Doctor {
    /// The maximum number of defective files that are listed.
    private static let mostFiles = 20

    /// Reports the state of the archive folder, as the daemon has last found it, and the files that people have removed
    /// or changed. Does not touch the folder, whose file system may be dead.
    func archive() -> [Finding] {
        guard let configuration = try? installation.configuration(), let folder = configuration.archive.folder else {
            return [.ok("archive", "none; archive.folder in podfs.conf(5) names one")]
        }
        do {
            guard let library = try installation.library(), let record = try library.archiveFolder() else {
                return [.ok("archive", "\(folder), not examined yet; the daemon examines it when it starts")]
            }
            let backlog = try library.archiveBacklog(isDefault: configuration.archive.archivesAll)
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
