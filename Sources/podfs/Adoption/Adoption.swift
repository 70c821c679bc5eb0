import Foundation
import Platform
import PodcastLibrary
import PodcastProtocol

/// The adoption of files that have been matched: the daemon adds them to the archive one by one.
struct Adoption {
    let root: String
    /// The path of the archive folder; `nil` if there is none.
    let archive: String?
    let isDryRun: Bool
    let library: Library
    let progress: ProgressLine
    let print: AdoptionReport
    /// The names of the shows' folders.
    let names: [ShowID: String]

    /// Adopts the files, and reports every decision. Marks in `records` are set for episodes that have none.
    ///
    /// - Returns: The number of files that could not be added to the archive.
    func run(
        _ files: [AdoptableFile], _ decisions: [AdoptionDecision], _ finder: MediaFinder, _ records: [ForeignRecord],
        _ matcher: AdoptionMatcher, _ installation: Installation
    ) async throws -> Int {
        var tally = AdoptionTally(present: finder.known, unusable: finder.problems.count, others: finder.others)
        let daemon = isDryRun ? nil : try installation.daemon()
        defer { daemon?.close() }
        var print = print
        for problem in finder.problems { print.line(problem.path, .unusable(problem.reason), nil) }
        let total = decisions.count { $0.isAdoption }
        var stop: Failure?
        for (file, decision) in zip(files, decisions) {
            let path = try decision.episode.flatMap(displayedPath)
            var failure: Failure?
            if case .adopt(let episode, _) = decision, let daemon, stop == nil {
                progress.show(ProgressText.count(tally.adopted + tally.failed, of: total, path ?? ""))
                do {
                    _ = try await daemon.perform(
                        .adopt(episode: episode, path: place(of: file), size: file.size), \.adopted)
                } catch let error as Failure {
                    failure = error
                    // The archive itself has failed, so that every other file would fail as well.
                    if error.errorNumber != 0 { stop = error }
                }
                progress.clear()
            } else if case .adopt = decision, let stop {
                tally.count(decision, hasFailed: true)
                // People have read the reason once.
                if print.isJSON { print.line(file.path, decision, path, size: file.size, failure: stop.message) }
                continue
            }
            tally.count(decision, hasFailed: failure != nil)
            print.line(file.path, decision, path, size: file.size, failure: failure?.message)
        }
        let marks = try await transfer(records, matcher, daemon)
        print.end(tally, marks: marks)
        progress.finish()
        return tally.failed
    }

    /// Returns the path of a file, relative to the archive folder for a file in it.
    private func place(of file: AdoptableFile) -> String {
        let path = "\(root)/\(file.path)"
        return archive.flatMap { Self.path(path, below: $0) } ?? path
    }

    /// Returns a path relative to a folder; `nil` if it is not inside.
    static func path(_ path: String, below folder: String) -> String? {
        let start = folder + "/"
        return path.hasPrefix(start) ? String(path.dropFirst(start.count)) : nil
    }

    private func displayedPath(of episode: EpisodeID) throws -> String? {
        try library.entry(id: episode).flatMap { entry in names[entry.podcast].map { "\($0)/\(entry.name)" } }
    }

    /// Sets the played marks and positions of another program for the episodes that have neither.
    ///
    /// - Returns: The number of episodes marked as played, and of positions.
    private func transfer(
        _ records: [ForeignRecord], _ matcher: AdoptionMatcher, _ daemon: DaemonConnection?
    ) async throws -> (played: Int, positions: Int) {
        var marks = (played: 0, positions: 0)
        for record in records where record.played || record.position != nil {
            guard let episode = matcher.episode(of: record), let stored = try library.listening(of: episode),
                !stored.played, stored.position == nil
            else { continue }
            if record.played {
                _ = try await daemon?.perform(.setPlayed(episode: episode, true))
                marks.played += 1
            } else if let position = record.position {
                _ = try await daemon?.perform(.setPosition(episode: episode, seconds: position))
                marks.positions += 1
            }
        }
        return marks
    }
}

extension AdoptionDecision {
    var isAdoption: Bool { if case .adopt = self { true } else { false } }

    /// The episode that the decision is about; the first one of several.
    var episode: EpisodeID? {
        switch self {
        case .adopt(let id, _), .present(let id), .duplicate(let id, _), .contradicted(let id, _, _), .weak(let id, _):
            id
        case .ambiguous(let ids, _): ids.first
        case .unknown, .unusable: nil
        }
    }
}
