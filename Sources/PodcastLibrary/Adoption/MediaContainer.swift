internal import Transfers

/// The containers of media files, by extension and by content.
enum MediaContainer {
    /// The extensions and formats that belong together.
    private static let families: [(extensions: Set<String>, formats: Set<MediaFormat>)] = [
        (["mp3", "mp2", "mp1", "mpga", "mpa"], [.id3, .mpegAudio]),
        (
            ["m4a", "m4b", "mp4", "m4v", "mov", "qt", "m4r", "f4a", "f4v", "3gp", "3gpp", "3g2", "3ga"],
            [.isoMedia]
        ),
        (["ogg", "oga", "opus", "spx", "ogv", "ogx", "ogm"], [.ogg]), (["flac"], [.flac, .id3]),
        (["wav", "wave", "avi", "divx"], [.riff]), (["aac", "adts"], [.aac, .id3]),
        (["webm", "weba", "mkv", "mka", "mk3d"], [.matroska]), (["wma", "wmv", "asf"], [.asf]),
        (["ts", "mts", "m2ts"], [.transportStream]),
    ]

    /// The extensions of both audio and video.
    private static let either: Set<String> = ["mp4", "webm", "ogg", "ogx", "3gp", "3gpp", "3g2"]

    /// Whether a file may be an episode's. Its name or its content must be of the kind that the extension of the
    /// episode's file promises: servers deliver M4A as `.mp3`, and programs store it so.
    /// A name with the extension of the media URL is accepted too, whatever MIME type the feed states.
    static func fits(_ format: MediaFormat?, named suffix: String, episode: String, url: String) -> Bool {
        if !suffix.isEmpty, suffix == MediaType.pathExtension(of: url) { return true }
        let majors = [suffix, episode].compactMap { either.contains($0) ? nil : MediaType.extensions[$0]?.major }
        if majors.count == 2, majors[0] != majors[1] { return false }
        guard let family = families.first(where: { $0.extensions.contains(episode) }) else { return true }
        return family.extensions.contains(suffix) || format.map(family.formats.contains) ?? suffix.isEmpty
    }
}
