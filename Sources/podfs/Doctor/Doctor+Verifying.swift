import Foundation
import Platform
import PodcastLibrary
import PodcastPages
import PodcastProtocol
import SystemPackage
import Transfers

// The comparison of cached episodes with the digests that were recorded when their downloads finished.
extension Doctor {
    private struct Item {
        var rendition: Rendition
        /// The size of the file in bytes.
        var size: Int64
        /// `SHOW/EPISODE`.
        var path: String
    }

    /// Reads every complete file of the cache and compares its digest with the recorded one. The daemon, the only
    /// writer of the cache, checks differing files a second time, and evicts the damaged ones.
    func verification() async -> [Finding] {
        let items: [Item]
        do {
            items = try completeFiles()
        } catch {
            return [.problem("episodes", "\(CommandError(error))", remedy: "see the finding about the library")]
        }
        let line = ProgressLine()
        defer { line.finish() }
        let total = items.reduce(0) { $0 + $1.size }
        var done: Int64 = 0
        var suspects: [Item] = []
        for (index, item) in items.enumerated() {
            var read: Int64 = 0
            let isGood = isGood(item) { count in
                read += count
                line.show(
                    "verifying \(ProgressText.count(index + 1, of: items.count)), \(ByteText.size(done + read)) of "
                        + "\(ByteText.size(total)): \(item.path)")
            }
            done += item.size
            if !isGood { suspects.append(item) }
        }
        line.finish()
        let found = suspects.isEmpty ? [] : await findings(for: suspects)
        let good = items.count - found.count
        let summary = "\(good) cached episode\(good == 1 ? "" : "s") verified, \(ByteText.size(total)) read"
        return await found + [.ok("episodes", summary)] + archiveVerification(line)
    }

    /// Has the daemon read every file of the archive and compare its digest with the recorded one. The files may be on
    /// a disk that is dead, which only the daemon's own thread may wait for.
    private func archiveVerification(_ line: ProgressLine) async -> [Finding] {
        do {
            guard let library = try installation.library(), try library.hasArchivedFiles() else { return [] }
            if let problem = try library.archiveFolder()?.problem {
                return [.warning("archived", problem, remedy: "mount its disk, then podfs doctor --verify again")]
            }
            let daemon = try installation.daemon()
            defer { daemon.close() }
            var found: [Finding] = []
            var (last, count, bytes) = ("", 0, Int64(0))
            while let file = try library.archivedFiles(after: last, limit: 1).first {
                last = file.path
                guard let episode = file.episode else { continue }
                line.show("verifying the archive, \(ByteText.size(bytes)): \(file.path)")
                let problems = try await daemon.perform(.verify(episodes: [episode]), \.acted).problems
                found += problems.map {
                    .problem(
                        "archived", "\(file.path): \($0)",
                        remedy: "put a good copy there, or fetch the episode again: podfs download EPISODE")
                }
                (count, bytes) = (count + 1, bytes + file.size)
            }
            line.finish()
            let good = count - found.count
            return found + [
                .ok("archived", "\(ReportText.count(good, "archived episode")) verified, \(ByteText.size(bytes)) read")
            ]
        } catch {
            line.finish()
            return [.problem("archived", "\(CommandError(error))", remedy: "podfs doctor --verify again")]
        }
    }

    /// Returns the complete files of the cache; none if there is no library.
    private func completeFiles() throws -> [Item] {
        guard let library = try installation.library() else { return [] }
        return try library.renditions().compactMap { rendition in
            guard rendition.complete, let size = rendition.size,
                let episode = try library.episode(id: rendition.episode)
            else { return nil }
            let show = try library.podcast(id: episode.podcast)?.name ?? ""
            return Item(rendition: rendition, size: size, path: "\(show)/\(episode.name)")
        }
    }

    /// Returns whether a file has its recorded state (the metadata of its inode) and digest. The result is also `false`
    /// if the file was just evicted, but the daemon then reports no problem with it.
    ///
    /// - Parameter progress: Called repeatedly with the number of bytes read since its previous call.
    private func isGood(_ item: Item, progress: (Int64) -> Void) -> Bool {
        let state = item.rendition.fileState.flatMap(FileState.init(text:))
        guard
            let reader = try? MediaReader(
                name: item.rendition.file, in: FilePath(installation.paths.cache),
                expecting: .recorded(state, size: item.size))
        else { return false }
        return (try? reader.sha256(progress: progress)) == item.rendition.sha256
    }

    /// Asks the daemon to check the suspect files again, and returns the problems that it reports. It reports none for
    /// a file restored from a backup: such a file is suspect only because its state differs from the recorded one.
    private func findings(for suspects: [Item]) async -> [Finding] {
        let daemon: DaemonConnection
        do {
            daemon = try installation.daemon()
        } catch {
            return suspects.map {
                .problem(
                    "episodes", "\($0.path): its file has changed",
                    remedy: "the daemon, which checks it again, cannot be reached: \(CommandError(error))")
            }
        }
        defer { daemon.close() }
        var found: [Finding] = []
        for item in suspects {
            do {
                let problems = try await daemon.perform(.verify(episodes: [item.rendition.episode]), \.acted).problems
                // The daemon does not evict a file that it could not check, for lack of memory for example.
                let current = try? installation.library()?.rendition(of: item.rendition.episode)
                let isCached = current?.file == item.rendition.file && current?.complete == true
                for problem in problems {
                    found.append(
                        .problem(
                            "episodes", "\(item.path): \(problem)",
                            remedy: isCached
                                ? "podfs doctor --verify again" : "it was evicted, and is fetched again when it is read"
                        ))
                }
            } catch {
                found.append(
                    .problem("episodes", "\(item.path): \(CommandError(error))", remedy: "podfs doctor --verify again"))
            }
        }
        return found
    }
}
