internal import Platform
internal import PodcastFeed
package import PodcastLibrary

/// The episodes of a show or of a view as an extended M3U playlist in its folder.
///
/// The encoding is UTF-8, as the extension `m3u8` implies, and the names are relative to the playlist. Most players
/// (mpv, ffmpeg) treat a line as a path; VLC treats it as a URL and encodes characters that are invalid in one. For
/// nearly all names, the unencoded name therefore works in every player. The other names are percent-encoded for VLC;
/// for the players that treat them as paths, the mount accepts the encoded name as an unlisted alias
/// (`fileName(ofEncodedForVLC:)`).
package enum Playlist {
    /// Returns the size in bytes that suffices for a number of tracks, unless most of them have more than a dozen
    /// characters that are percent-encoded.
    ///
    /// - Parameter text: The number of bytes of the title, and of the names and titles of all tracks.
    package static func size(tracks: Int, text: Int) -> Int { 64 + text + tracks * 48 }

    /// - Parameters:
    ///   - tracks: The episodes: newest first for a show, in the view's order for a view.
    ///   - isSerial: Whether to reverse the order, so that the episodes of a serial are in chronological order.
    package static func bytes(title: String, tracks: [Track], isSerial: Bool) -> [UInt8] {
        var text = "#EXTM3U\n#PLAYLIST:\(PlainText.oneLine(title))\n"
        for track in isSerial ? tracks.reversed() : tracks {
            // -1 means an unknown duration; all players read whole seconds.
            let seconds = track.duration.map { WholeNumber.of($0.rounded()) } ?? -1
            // `./` is prepended to a name with a colon, which could otherwise start with a URL scheme. A number sign,
            // which would start a comment, is percent-encoded.
            let name = encodedForVLC(track.name)
            let path = name.utf8.contains(UInt8(ascii: ":")) ? "./\(name)" : name
            text += "#EXTINF:\(max(-1, seconds)),\(PlainText.oneLine(track.title))\n\(path)\n"
        }
        return Array(text.utf8)
    }

    /// Percent-encodes `#`, `?` and percent signs in a name that contains `#`, `?` or a percent sign that looks like an
    /// encoded character. Other names stay unchanged, because VLC itself encodes percent signs unless all of them look
    /// encoded.
    static func encodedForVLC(_ name: String) -> String {
        let bytes = Array(name.utf8)
        let needsIt = bytes.indices.contains { index in
            switch bytes[index] {
            case UInt8(ascii: "#"), UInt8(ascii: "?"): true
            case UInt8(ascii: "%"):
                bytes.count > index + 2
                    && bytes[(index + 1)...(index + 2)].allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
            default: false
            }
        }
        guard needsIt else { return name }
        return name.replacingScalars("%", with: "%25").replacingScalars("#", with: "%23")
            .replacingScalars("?", with: "%3F")
    }

    /// Decodes a name that `encodedForVLC` has encoded; `nil` if `text` is not such a name.
    package static func fileName(ofEncodedForVLC text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
        let name = text.replacingScalars("%3F", with: "?").replacingScalars("%23", with: "#")
            .replacingScalars("%25", with: "%")
        return name != text && encodedForVLC(name) == text ? name : nil
    }
}
