package import PodcastLibrary

/// A show's episodes as an extended M3U playlist, for a player that is given the file in the show's folder.
///
/// UTF-8, which the extension `m3u8` promises. The names are relative to the file. Most players (mpv, ffmpeg) take a line
/// for a path as it stands; VLC takes it for a URL, in which it encodes by itself what cannot stand in one, so that the
/// two agree on nearly all names. Those on which they do not are percent-encoded for VLC; for the others the mount has
/// the encoded name as a second one, which it does not list (`fileName(ofEncoded:)`).
package struct Playlist: Sendable {
    private let title: String
    private let tracks: [Track]

    /// - Parameters:
    ///   - tracks: newest first.
    ///   - isSerial: whether they are to be heard in order, from the oldest on.
    package init(title: String, tracks: [Track], isSerial: Bool) {
        self.title = title
        self.tracks = isSerial ? tracks.reversed() : tracks
    }

    package var bytes: [UInt8] {
        var text = "#EXTM3U\n#PLAYLIST:\(PlainText.oneLine(title))\n"
        for track in tracks {
            // -1 says that the duration is not known; whole seconds are what all players read.
            let seconds = track.duration.map { WholeNumber.of($0.rounded()) } ?? -1
            text += "#EXTINF:\(max(-1, seconds)),\(PlainText.oneLine(track.title))\n\(Self.line(of: track.name))\n"
        }
        return Array(text.utf8)
    }

    /// A file of the same folder. One that begins with a number sign would be a comment, and one with a colon the
    /// address of another scheme: the folder before it makes a path of both.
    private static func line(of name: String) -> String {
        let encoded = encoded(name)
        return encoded.utf8.contains(UInt8(ascii: ":")) ? "./\(encoded)" : encoded
    }

    /// The name with the characters encoded that begin the query or the fragment of a URL, or look like an encoded one;
    /// as it is when it has none of these. VLC encodes a percent sign by itself unless all of them look encoded.
    static func encoded(_ name: String) -> String {
        let bytes = Array(name.utf8)
        let needsIt = bytes.indices.contains { index in
            switch bytes[index] {
            case UInt8(ascii: "#"), UInt8(ascii: "?"): true
            case UInt8(ascii: "%"): bytes.count > index + 2 && isHex(bytes[index + 1]) && isHex(bytes[index + 2])
            default: false
            }
        }
        guard needsIt else { return name }
        return name.replacing("%", with: "%25").replacing("#", with: "%23").replacing("?", with: "%3F")
    }

    private static func isHex(_ byte: UInt8) -> Bool { Character(UnicodeScalar(byte)).isHexDigit }

    /// The name that a playlist has encoded as `text`; `nil` when none is.
    package static func fileName(ofEncoded text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
        let name = text.replacing("%3F", with: "?").replacing("%23", with: "#").replacing("%25", with: "%")
        return name != text && encoded(name) == text ? name : nil
    }
}
