internal import Foundation
internal import Logging
internal import Platform
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol

/// The small files beside an archived episode: notes, chapters, transcripts and art, under the stem of its file, and
/// the show's art. An existing file is not replaced. One that cannot be fetched is added after a later refresh of the
/// show.
@ServiceActor
final class ArchiveSidecars: ServicePart {
    private nonisolated let archive: Archive
    private let assets: Assets
    nonisolated var driver: CoreDriver { archive.driver }
    /// The fetches and failures of servers since the last `complete` began. After some, only assets in the cache are
    /// added: a show of thousands of episodes must not wait for a dead server each time.
    private var fetches = 0
    private var failures = 0
    /// The assets that their servers do not have. The next daemon asks again.
    private var refused: Set<String> = []
    /// The number of files that a show's feed offers beside archived episodes, if none of them is missing except for
    /// refused ones. So the archive's disk may sleep during most refreshes.
    private var completed: [ShowID: Int] = [:]
    /// The shows whose art has been added.
    private var covers: Set<ShowID> = []

    /// The maximum number of fetches of one `complete`, so that moves need not wait long.
    private static let mostFetches = 32
    private static let mostFailures = 3

    /// The files beside an episode that its show's feed may offer.
    private static let offered: [(sidecars: Sidecars, kind: AssetKind?, suffix: String)] = [
        (.notes, nil, ".html"), (.chapters, .chapters, ".json"), (.anyVTT, .vtt, ".vtt"), (.srt, .srt, ".srt"),
        (.art, .art, ".jpg"),
    ]

    init(_ archive: Archive, _ assets: Assets) {
        self.archive = archive
        self.assets = assets
    }

    // MARK: A show

    /// Returns the archived episodes of a show, the newest first, with what the feed offers beside each.
    private func offered(by show: ShowID) throws -> [(file: ArchivedFile, id: EpisodeID, files: [String])] {
        let files = Dictionary(
            try library.archivedFiles(of: show).compactMap { file in file.episode.map { ($0, file) } },
            uniquingKeysWith: { first, _ in first })
        if files.isEmpty { return [] }
        return try library.entries(of: show).compactMap { entry in
            // Below the folder of the show are files that were there before podfs.
            guard let file = files[entry.id], file.path.count(where: { $0 == "/" }) == 1 else { return nil }
            let offered = Self.offered.filter { !entry.sidecars.isDisjoint(with: $0.sidecars) }
            return (file, entry.id, offered.map { FileName.stem(ofFile: file.path) + $0.suffix })
        }
    }

    /// Adds the files that are missing beside a show's archived episodes, as far as they can be fetched.
    ///
    /// - Returns: `false` if more of them can be fetched at once.
    func complete(_ show: ShowID) async -> Bool {
        do {
            let episodes = try offered(by: show)
            let count = episodes.reduce(0) { $0 + $1.files.count }
            if completed[show] == count { return true }
            (fetches, failures) = (0, 0)
            var present: Set<String> = []
            for folder in Set(episodes.map(\.file.folder)) {
                present.formUnion(try await archive.names(in: folder).map { "\(folder)/\($0)" })
            }
            var isComplete = true
            for episode in episodes where !present.isSuperset(of: episode.files) {
                isComplete = await add(to: episode.file, of: episode.id) && isComplete
            }
            if isComplete { completed[show] = count }
            return isComplete || failures > 0 || fetches < Self.mostFetches
        } catch {
            log.debug("the files beside the episodes of show \(show) are not archived: \(error)")
            return true
        }
    }

    // MARK: An episode

    /// Adds the files beside an episode that can be fetched.
    ///
    /// - Returns: Whether none is missing, except for refused ones.
    func add(to file: ArchivedFile, of id: EpisodeID) async -> Bool {
        do {
            guard let episode = try library.episode(id: id), let show = try library.podcast(id: episode.podcast) else {
                return true
            }
            var isComplete = true
            let extras = try library.extras(of: id)
            for (sidecars, kind, suffix) in Self.offered {
                var bytes: [UInt8]?
                switch kind {
                case nil:
                    if let notes = episode.notes, !notes.isEmpty {
                        bytes = NotesPage.bytes(of: episode, notes: notes, show: show, linksBack: false)
                    }
                case .chapters:
                    if extras.chaptersURL != nil { bytes = await asset(.chapters, id.rawValue, &isComplete) }
                    if bytes == nil, isComplete, !extras.chapters.isEmpty {
                        bytes = ChapterList.bytes(extras.chapters, title: episode.title, duration: episode.duration)
                    }
                case let kind?:
                    guard !episode.sidecars.isDisjoint(with: sidecars) else { continue }
                    bytes = await asset(kind, id.rawValue, &isComplete)
                }
                if let bytes {
                    try await archive.add(bytes, as: FileName.stem(ofFile: file.name) + suffix, beside: file)
                }
            }
            if show.image != nil, !covers.contains(show.id),
                let bytes = await asset(.cover, show.id.rawValue, &isComplete),
                let cover = try library.podcast(id: show.id)?.coverName
            {
                try await archive.add(bytes, as: cover, beside: file)
                covers.insert(show.id)
            }
            if !isComplete { completed[show.id] = nil }
            return isComplete
        } catch {
            log.debug("the files beside \(file.path) are not archived: \(error)")
            return false
        }
    }

    /// Returns the bytes of an asset; `nil` if it cannot be fetched.
    ///
    /// - Parameter isComplete: Set to `false` if a later attempt may succeed soon.
    private func asset(_ kind: AssetKind, _ id: Int64, _ isComplete: inout Bool) async -> [UInt8]? {
        let name = kind.fileName(id)
        if assets.store.record(name) == nil {
            if refused.contains(name) { return nil }
            guard fetches < Self.mostFetches, failures < Self.mostFailures else {
                isComplete = false
                return nil
            }
            fetches += 1
            do {
                _ = try await assets.asset(kind, id)
            } catch {
                if let failure = error as? Failure, [ENODATA, EACCES].contains(failure.errorNumber) {
                    refused.insert(name)
                } else {
                    failures += 1
                    isComplete = false
                }
                return nil
            }
        }
        return FileManager.default.contents(atPath: assets.store.path(name)).map { [UInt8]($0) }
    }
}
