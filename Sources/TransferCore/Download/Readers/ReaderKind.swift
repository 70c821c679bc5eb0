/// The kind of program that reads a file, which decides whether the whole file is downloaded.
package enum ReaderKind: Sendable, Equatable {
    /// A program that plays or copies the file: its first read starts the download of the whole file.
    case player
    /// A program that reads headers and tags, as scanners of media libraries do: only the blocks that it reads are
    /// fetched, and no task is started.
    case probe
}
