internal import Platform
internal import PodcastFeed

/// The file of an episode that is a stream (HTTP Live Streaming, RFC 8216): a playlist with one entry, the URL of the
/// stream's own playlist.
///
/// Players fetch the stream themselves. The stream's own playlist is not copied into the file, because mpv and ffmpeg
/// refuse http URLs in an HLS playlist that is a local file, and because its URLs may expire.
package enum StreamFile {
    /// The extensions of playlists that players recognize as streams.
    private static let extensions: Set<String> = ["m3u8", "m3u"]

    package static let type = "application/vnd.apple.mpegurl"

    /// Whether an episode's file is the playlist of a stream, by its name.
    package static func isStream(_ name: String) -> Bool { extensions.contains(FileName.fileExtension(of: name)) }

    /// Returns the file's content.
    ///
    /// - Parameters:
    ///   - duration: The duration in seconds.
    ///   - url: The URL of the stream. If it is not a valid http or https URL, the playlist is empty.
    package static func content(title: String, duration: Double?, url: String) -> [UInt8] {
        let isClean = !url.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
        guard isClean, WebAddress.isValid(url) else { return Array("#EXTM3U\n".utf8) }
        let seconds = duration.flatMap { Int64(exactly: $0.rounded()) } ?? -1
        return Array("#EXTM3U\n#EXTINF:\(seconds),\(FileName.cut(FileName.replacing(title), to: 255))\n\(url)\n".utf8)
    }
}

extension Episode {
    /// Whether the file is the playlist of a stream.
    package var isStream: Bool { StreamFile.isStream(name) }

    /// The content of the playlist, for a stream.
    package var streamContent: [UInt8] { StreamFile.content(title: title, duration: duration, url: url) }
}
