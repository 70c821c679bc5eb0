internal import Logging
internal import PodcastLibrary
internal import PodcastProtocol
internal import Transfers

/// The verification that cache files still contain the downloaded bytes. Another program may have truncated, copied or
/// replaced them while no daemon was running.
@ServiceActor
final class CacheVerifier: ServicePart {
    nonisolated let driver: CoreDriver
    /// Verifies the files that are not in the cache.
    weak var archive: Archive?

    init(_ driver: CoreDriver) { self.driver = driver }

    // MARK: Reconciliation at the start

    /// Reconciles the cache files with the library's `rendition` rows, each of which describes one file.
    ///
    /// Removes rows whose file is missing or defective. Adds a row for a file without one if its checkpoint names the
    /// episode's current generation or a later one, and the episode has no other file. Removes all other files without
    /// a row.
    func reconcile() throws {
        var known: Set<String> = []
        for rendition in try library.renditions() {
            let expectation = Self.expectation(
                isComplete: rendition.complete, size: rendition.size, state: rendition.fileState)
            switch engine.cache.defect(of: rendition.file, expecting: expectation) {
            // If only other metadata differ, the digest alone can show whether the file is intact; it is verified when
            // it is opened. A transient error proves nothing.
            case nil, .changed: known.insert(rendition.file)
            case let defect? where defect.isTransient: known.insert(rendition.file)
            case .missing: try library.dropRendition(episode: rendition.episode, now: now())
            case let defect?: try drop(rendition, for: defect)
            }
        }
        for name in engine.cache.names() where !known.contains(name) {
            let checkpoint: Checkpoint?
            do {
                checkpoint = try engine.cache.checkpoint(of: name)
            } catch {
                log.warning("\(name): not removed: \(error)")
                continue
            }
            guard let found = checkpoint, let episode = try library.episode(id: found.key.episode),
                try library.rendition(of: episode.id) == nil, found.generation >= episode.generation
            else {
                engine.cache.remove(name)
                continue
            }
            try library.pin(Rendition(file: name, found, now: now()), now: now())
        }
    }

    nonisolated static func expectation(isComplete: Bool, size: Int64?, state: String?) -> CacheExpectation {
        guard let size else { return .file }
        return isComplete ? .recorded(state.flatMap(FileState.init(text:)), size: size) : .size(size)
    }

    // MARK: Verification by digest

    /// Reads a complete file and compares its digest with that of the download. Removes a file that differs, and its
    /// row, so that the episode is fetched again on demand.
    ///
    /// - Returns: a description of the defect, or the error; `nil` if the file is intact, or there is no complete file.
    @discardableResult
    func verify(_ episode: EpisodeID) async -> String? {
        do {
            driver.drainEvents()
            let current = try library.rendition(of: episode)
            if current == nil || current?.archived != nil, try library.archivedFile(of: episode) != nil {
                return try await archive?.verify(episode)
            }
            guard let before = current, before.complete else { return nil }
            var checkpoint = Checkpoint(key: MediaID(before.episode), generation: before.generation)
            checkpoint.total = before.size
            checkpoint.validator = before.validator
            checkpoint.finalURL = before.finalURL
            checkpoint.sha256 = before.sha256
            let result = await engine.verify(before.file, checkpoint)
            driver.drainEvents()
            // The file may have been evicted or replaced in the meantime.
            guard let rendition = try library.rendition(of: episode), rendition.file == before.file else { return nil }
            switch result {
            case .success(let state):
                try library.record(fileState: state.text, of: rendition.file)
                return nil
            case .failure(let defect):
                if !defect.isTransient {
                    engine.discard(MediaID(episode))
                    try drop(rendition, for: defect)
                }
                return defect.description
            }
        } catch {
            log.error("\(error)")
            return "\(error)"
        }
    }

    /// Removes a defective file and its row, and notifies clients.
    private func drop(_ rendition: Rendition, for defect: CacheFileDefect) throws {
        let episode = try library.episode(id: rendition.episode)
        try library.dropRendition(episode: rendition.episode, now: now())
        engine.cache.remove(rendition.file)
        log.warning("\(episode?.name ?? rendition.file): dropped from the cache: \(defect)")
        driver.changed(episode: rendition.episode)
    }

    /// Verifies several episodes, one after the other. An archived file that was missing or changed is verified as well
    /// as the cached file that has replaced it.
    func verify(_ episodes: [EpisodeID]) async throws -> Reply {
        var problems: [String] = []
        for episode in episodes {
            var problem = await verify(episode)
            if problem == nil, try library.archivedFile(of: episode)?.defect != nil {
                problem = try await archive?.verify(episode)
            }
            if let problem { problems.append(problem) }
        }
        return .acted(count: episodes.count - problems.count, problems: problems)
    }
}
