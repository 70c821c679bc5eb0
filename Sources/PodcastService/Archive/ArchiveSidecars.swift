internal import Foundation
internal import Logging
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import Transfers

/// The small files beside an archived episode: notes, chapters, transcripts and art, under the stem of its file, and
/// the show's art. An existing file is not replaced, and one that cannot be fetched is left out.
@ServiceActor
final class ArchiveSidecars: ServicePart {
    private nonisolated let archive: Archive
    private let assets: Assets
    nonisolated var driver: CoreDriver { archive.driver }
    /// Fetches that have failed in a row. After some, only assets in the cache are added until the next daemon: a show
    /// of thousands of episodes must not wait for a dead server each time.
    private var failures = 0

    private static let mostFailures = 3

    init(_ archive: Archive, _ assets: Assets) {
        self.archive = archive
        self.assets = assets
    }

    func add(to file: ArchivedFile, of id: EpisodeID) async {
        do {
            guard let episode = try library.episode(id: id), let show = try library.podcast(id: episode.podcast) else {
                return
            }
            let stem = FileName.stem(ofFile: file.path)
            if let notes = episode.notes, !notes.isEmpty {
                try await archive.add(NotesPage(episode, notes: notes, show: show).archivedBytes, as: stem + ".html")
            }
            let extras = try library.extras(of: id)
            var chapters = extras.chaptersURL == nil ? nil : await asset(.chapters, id.rawValue)
            if chapters == nil, !extras.chapters.isEmpty {
                chapters = ChapterList(extras.chapters, title: episode.title, duration: episode.duration).bytes
            }
            if let chapters { try await archive.add(chapters, as: stem + ".json") }
            let offered: [(Sidecars, AssetKind, String)] = [
                (.anyVTT, .vtt, ".vtt"), (.srt, .srt, ".srt"), (.art, .art, ".jpg"),
            ]
            for (sidecars, kind, suffix) in offered where !episode.sidecars.isDisjoint(with: sidecars) {
                if let bytes = await asset(kind, id.rawValue) { try await archive.add(bytes, as: stem + suffix) }
            }
            if show.image != nil, covers.insert(show.id).inserted, let bytes = await asset(.cover, show.id.rawValue),
                let cover = try library.podcast(id: show.id)?.coverName
            {
                try await archive.add(bytes, as: "\(file.path.prefix { $0 != "/" })/\(cover)")
            }
        } catch {
            log.debug("the files beside \(file.path) are not archived: \(error)")
        }
    }

    /// The shows whose art has been added, or could not be.
    private var covers: Set<ShowID> = []

    /// Returns the bytes of an asset; `nil` if it cannot be fetched.
    private func asset(_ kind: AssetKind, _ id: Int64) async -> [UInt8]? {
        let name = kind.fileName(id)
        if assets.store.record(name) == nil {
            if failures >= Self.mostFailures { return nil }
            do {
                _ = try await assets.asset(kind, id)
                failures = 0
            } catch {
                failures += 1
                return nil
            }
        }
        return FileManager.default.contents(atPath: assets.store.path(name)).map { [UInt8]($0) }
    }
}
