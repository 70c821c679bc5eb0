internal import Glibc
internal import Platform
package import PodcastFeed
package import PodcastProtocol

/// The transcripts in the folder of cached assets, and those beside archived episodes.
package struct TranscriptFiles: Sendable {
    let folder: String
    /// The thread that reads from the archive, whose disk or server may not respond.
    private let archive = StallingQueue(name: "podfs-find", deadline: .seconds(Self.deadline))

    /// The formats of transcripts, the preferred one first.
    private static let kinds: [AssetKind] = [.vtt, .srt]
    /// The maximum time in seconds to wait for a file in the archive.
    private static let deadline = 5

    package init(folder: String) { self.folder = folder }

    /// Returns the cues of an episode's transcript; `nil` if it is neither in the cache nor in the archive, or the
    /// archive cannot be read now.
    ///
    /// - Parameter place: The episode's place in the archive, if it has one.
    package func cues(of episode: EpisodeID, archivedAt place: ArchivePlace?) -> [SpokenCue]? {
        if let bytes = Self.first(of: { "\(folder)/\($0.fileName(episode.rawValue))" }) {
            return SpokenCue.cues(in: bytes)
        }
        guard let place, !place.isOffline else { return nil }
        let stem = "\(place.folder)/\(FileName.stem(ofFile: place.path))"
        let answer = OneShot<[UInt8]?>()
        archive.run({ Self.first { "\(stem).\($0.rawValue)" } }, completion: { answer.deliver(try? $0.get()) })
        // The queue fails the job after its deadline.
        return answer.wait(seconds: Double(Self.deadline * 2)).flatMap(\.self).map(SpokenCue.cues)
    }

    /// Returns the content of the file in the preferred format; `nil` if there is none.
    private static func first(of path: (AssetKind) -> String) -> [UInt8]? {
        for kind in kinds {
            if let bytes = contents(path(kind)) { return bytes }
        }
        return nil
    }

    /// Returns a number for each episode with a cached transcript. Another number means another file.
    func identities() -> [EpisodeID: Int64] {
        var identities: [EpisodeID: Int64] = [:]
        for name in names(inFolder: folder) ?? [] {
            if let id = Self.episode(ofFile: name) { identities[id] = 0 }
        }
        for id in identities.keys { identities[id] = identity(of: id) }
        return identities.filter { $0.value != 0 }
    }

    /// Returns the number of an episode's transcript; 0 if it is not cached. A new transcript is a new file, which
    /// replaces the old one. Uses of the file change only its times.
    func identity(of episode: EpisodeID) -> Int64 {
        var digest = Digest()
        var exists = false
        for kind in Self.kinds {
            var status = stat()
            guard stat("\(folder)/\(kind.fileName(episode.rawValue))", &status) == 0, status.st_size > 0 else {
                continue
            }
            digest.add(Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size))
            exists = true
        }
        return exists ? max(1, digest.value & .max) : 0
    }

    private static func episode(ofFile name: String) -> EpisodeID? {
        let parts = name.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, kinds.contains(where: { $0.rawValue == parts[0] }) else { return nil }
        return Int64(parts[1]).map(EpisodeID.init)
    }

    private static func contents(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // The maximum number of bytes read: fifty hours of speech.
        return readAll(file, limit: 4 << 20)
    }
}
