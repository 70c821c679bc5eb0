internal import Glibc
internal import PodcastLibrary

extension PodcastService {
    nonisolated var librarySchema: Int { Library.schemaVersion }
    nonisolated var processID: Int32 { getpid() }
}
