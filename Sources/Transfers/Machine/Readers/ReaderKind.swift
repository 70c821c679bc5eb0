/// The kind of program that reads a file, which decides whether the whole file is downloaded.
package enum ReaderKind: Sendable, Equatable {
    /// A program that plays or copies the file. Its first read starts the download of the whole file.
    case player
    /// A program that reads headers and tags, as scanners of media libraries do. Only the blocks that it reads are
    /// fetched, and its reads do not start the download of the whole file.
    case probe
}
