import GRDB
package import PodcastProtocol
package import Transfers

/// An error of the library. The description is one line for users: what happened, and what to do.
package enum LibraryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The library does not exist at this path, or is empty.
    case missing(path: String)
    /// The library was written by a newer podfs, or by one before the first release.
    case newerSchema(found: Int, known: Int)
    case damaged(path: String, reason: String)
    case alreadySubscribed(name: String)
    case nameTaken(String)
    case invalidName(String, reason: String)
    case noSuchPodcast(ShowID)
    case noSuchEpisode(EpisodeID)
    case noSuchDownload(TaskID)
    case noSuchRendition(episode: EpisodeID, generation: Int)
    /// A rendition (one version of an episode's media file) is outdated: the episode's generation is higher, or the
    /// current rendition has the same generation and another cache file.
    case staleGeneration(episode: EpisodeID, given: Int, current: Int)
    /// The library was opened for reading, or its file is not writable.
    case readOnly
    /// Another process held the lock for longer than the timeout.
    case busy(path: String)
    case diskFull(path: String)
    /// Any other failure of SQLite or the system.
    case failed(path: String, reason: String)

    package var description: String {
        switch self {
        case .missing(let path): "there is no library at \(path); subscribe to a show to create it"
        case .newerSchema(let found, let known):
            "the library was written by a newer podfs (schema \(found), this one knows \(known)); update podfs, or "
                + "remove the library if it is from before the first release"
        case .damaged(let path, let reason): "the library at \(path) is damaged (\(reason)); run podfs doctor"
        case .alreadySubscribed(let name): "already subscribed as '\(name)'"
        case .nameTaken(let name): "the name '\(name)' is taken; choose another"
        case .invalidName(let name, let reason): "'\(FileName.visible(name))' cannot be a name: \(reason)"
        case .noSuchPodcast(let id): "there is no show with the id \(id)"
        case .noSuchEpisode(let id): "there is no episode with the id \(id)"
        case .noSuchDownload(let id): "there is no download with the id \(id)"
        case .noSuchRendition(let episode, let generation):
            "episode \(episode) has no rendition of generation \(generation)"
        case .staleGeneration(let episode, let given, let current):
            "generation \(given) of episode \(episode) is outdated: the current one is \(current)"
        case .readOnly: "the library cannot be written: it was opened for reading only, or its file is not writable"
        case .busy(let path): "the library at \(path) is locked by another process; try again"
        case .diskFull(let path): "no space is left for the library at \(path); free some disk space"
        case .failed(let path, let reason): "the library at \(path) cannot be used: \(reason)"
        }
    }

    /// Runs `body`, and converts SQLite's result codes to errors of this module (https://www.sqlite.org/rescode.html).
    ///
    /// - Parameter isOpening: Whether `body` opens a library that should have the schema of this version of podfs. A
    ///   statement that SQLite cannot parse then means a damaged schema.
    static func translating<Value>(
        _ path: String, isOpening: Bool = false, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            let reason = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: throw LibraryError.damaged(path: path, reason: reason)
            case .SQLITE_ERROR where isOpening: throw LibraryError.damaged(path: path, reason: reason)
            case .SQLITE_BUSY, .SQLITE_LOCKED: throw LibraryError.busy(path: path)
            case .SQLITE_FULL: throw LibraryError.diskFull(path: path)
            case .SQLITE_READONLY: throw LibraryError.readOnly
            default: throw LibraryError.failed(path: path, reason: reason)
            }
        }
    }
}
