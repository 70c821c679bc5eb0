internal import Platform
internal import PodcastFeed

/// The type of an enclosure, derived from its MIME type and the path of its URL, without a request.
package struct MediaType: Sendable, Equatable {
    /// A major media type.
    package enum Major: Int, Sendable {
        case audio = 1
        case video = 2
        case other = 3
    }

    /// The major type; `nil` if neither the MIME type nor the URL shows it.
    package let major: Major?
    /// The extension of the episode's file, lower case, without a dot: one of `mediaExtensions`, or `bin`.
    package let fileExtension: String

    /// - Parameters:
    ///   - type: The MIME type according to the feed, without parameters.
    ///   - url: The media URL; only the end of its path is examined.
    package init(type: String?, url: String) {
        let type = Self.valid(type)
        let written = Self.pathExtension(of: url)
        let known = written.flatMap { Self.extensions[$0] }

        guard let type, !Self.generic.contains(type) else {
            major = known?.major
            if let written, !Self.isUninformative(written) {
                fileExtension = Self.allowed(written) ?? Self.unknown
            } else {
                // An enclosure without any information is nearly always an MP3, and players examine the content.
                fileExtension = "mp3"
            }
            return
        }

        let typeMajor = Self.major(of: type)
        major = typeMajor
        if let own = Self.types[type] {
            // The first extension of a type is the usual one; the others are accepted too.
            fileExtension = written.flatMap { own.contains($0) ? $0 : nil } ?? own[0]
        } else if let written, let known, known.major == typeMajor {
            fileExtension = Self.allowed(written) ?? Self.unknown
        } else {
            switch typeMajor {
            case .audio: fileExtension = "mp3"
            case .video: fileExtension = "mp4"
            case .other: fileExtension = written.flatMap(Self.allowed) ?? Self.unknown
            }
        }
    }

    // MARK: File extensions

    /// The extension of unlisted types. Browsers and desktops only save such a file, and web servers send it as
    /// `application/octet-stream`.
    package static let unknown = "bin"

    /// Whether a file from a feed may have this extension.
    ///
    /// This is an allowlist: a blocklist would have to name every type that some program runs (SVG, XHTML, HTA, JAR,
    /// LNK, PDF with its scripts…).
    package static func isAllowed(_ fileExtension: String) -> Bool {
        fileExtension == unknown || mediaExtensions.contains(fileExtension)
    }

    private static func allowed(_ fileExtension: String) -> String? { isAllowed(fileExtension) ? fileExtension : nil }

    /// Returns the MIME type that podfs reports for a file from a feed: `StreamFile.type` for the playlist of a stream,
    /// otherwise the feed's type if it is a known type of media, otherwise the type of the extension.
    ///
    /// Unknown types of the feed are not reported: some web servers use the attribute `user.mime_type` as the file's
    /// Content-Type, and browsers would run scripts in a feed's `image/svg+xml`.
    package static func reported(type: String?, fileExtension: String) -> String? {
        if fileExtension == "m3u8" || fileExtension == "m3u" { return StreamFile.type }
        if let type = valid(type), types[type] != nil { return type }
        return mimeType(forExtension: fileExtension)
    }

    /// Whether a file is video, by its MIME type, or by its extension if the MIME type is missing, invalid or generic.
    package static func isVideo(type: String?, fileExtension: String) -> Bool {
        if let type = valid(type), !generic.contains(type) { return major(of: type) == .video }
        return extensions[fileExtension.lowercased()]?.major == .video
    }

    /// Returns the MIME type for a file name's extension; `nil` for an unlisted one.
    package static func mimeType(forExtension fileExtension: String) -> String? {
        extensions[fileExtension.lowercased()]?.type
    }

    private static func major(of type: String) -> Major {
        // A playlist is neither audio nor video, even as `audio/mpegurl`.
        if ["m3u8", "pls"].contains(types[type]?.first) { return .other }
        if type.hasPrefix("audio/") || type == "application/ogg" { return .audio }
        if type.hasPrefix("video/") { return .video }
        return .other
    }

    /// Returns a MIME type; `nil` if the text is none.
    private static func valid(_ type: String?) -> String? {
        type.flatMap { $0.utf8.contains(UInt8(ascii: "/")) ? $0 : nil }
    }

    /// Returns the extension of the last component of a URL's path, in lower case; `nil` if there is none.
    static func pathExtension(of url: String) -> String? {
        let text = URLReference.pathExtension(of: url)
        // At most five letters and digits, one more than "webm": otherwise the dot belongs to a title.
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAlphanumeric) else { return nil }
        return text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Whether an extension in a URL says nothing about the file: that of a script, or a number.
    private static func isUninformative(_ text: String) -> Bool {
        ["php", "asp", "aspx", "jsp", "cgi", "html", "htm"].contains(text)
            || text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

// The tables of MIME types and file extensions.
extension MediaType {
    /// Generic types, which servers and feeds send if they do not know the type.
    static let generic: Set<String> = [
        "application/octet-stream", "binary/octet-stream", "application/binary", "application/force-download",
        "application/x-download", "text/plain", "text/html", "unknown/unknown",
    ]

    /// The extensions of each media type, the usual one first.
    static let types = Dictionary(
        uniqueKeysWithValues: synonyms.flatMap { types, extensions in types.map { ($0, extensions) } })

    /// The media types used by podcasts, with their extensions (IANA's registrations, RFC 3003, RFC 4337, RFC 5334, RFC
    /// 6381, RFC 8216, and the older `x-` names). The first type with an extension is that of the extension, so that
    /// `mp4`, `webm` and `3gp` are video.
    private static let synonyms: [(types: [String], extensions: [String])] = [
        (["audio/mpeg"], ["mp3", "mp2", "mpga", "mpa"]),
        (["audio/mp3", "audio/x-mp3", "audio/mpeg3", "audio/x-mpeg", "audio/mpg"], ["mp3"]),
        (["video/mp4"], ["mp4", "m4v"]),
        (["audio/mp4", "audio/x-m4a", "audio/m4a"], ["m4a", "m4b", "mp4"]),
        (["audio/m4b", "audio/x-m4b"], ["m4b", "m4a"]),
        (["audio/mp4a-latm"], ["m4a", "mp4"]),
        (["audio/aac"], ["aac", "m4a", "adts"]),
        (["audio/aacp", "audio/x-aac"], ["aac", "m4a"]),
        (["audio/ogg"], ["ogg", "oga", "opus", "spx"]),
        (["application/ogg"], ["ogg", "oga", "opus", "ogx"]),
        (["audio/vorbis"], ["ogg", "oga"]),
        (["audio/opus"], ["opus", "ogg", "oga"]),
        (["audio/flac", "audio/x-flac"], ["flac"]),
        (["audio/wav", "audio/wave", "audio/x-wav", "audio/vnd.wave"], ["wav"]),
        (["audio/aiff", "audio/x-aiff"], ["aiff", "aif"]),
        (["video/webm"], ["webm"]),
        (["audio/webm"], ["webm", "weba"]),
        (["audio/matroska", "audio/x-matroska"], ["mka"]),
        (["audio/x-ms-wma"], ["wma"]),
        (["audio/basic"], ["au", "snd"]),
        (["audio/midi"], ["mid", "midi"]),
        (["video/3gpp", "audio/3gpp"], ["3gp"]),
        (["video/x-m4v", "video/m4v"], ["m4v", "mp4"]),
        (["video/quicktime"], ["mov", "qt"]),
        (["video/mpeg"], ["mpg", "mpeg", "m2v"]),
        (["video/ogg"], ["ogv", "ogg"]),
        (["video/matroska", "video/x-matroska"], ["mkv"]),
        (["video/x-msvideo", "video/avi"], ["avi"]),
        (["video/x-ms-wmv"], ["wmv"]),
        (["video/x-flv"], ["flv"]),
        (["video/mp2t"], ["ts"]),
        (["audio/ac3"], ["ac3"]),
        (["audio/x-ape"], ["ape"]),
        (["audio/x-caf"], ["caf"]),
        (
            [
                "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
            ], ["m3u8", "m3u"]
        ),
        (["audio/x-scpls"], ["pls"]),
    ]

    /// The allowed extensions of files from feeds: those of recordings, and of plain-text playlists. XML playlists
    /// (`xspf`, `asx`, `wpl`, `smil`) are excluded: browsers show XML, and run scripts in it.
    static let mediaExtensions: Set<String> = Set(
        extensions.lazy.filter { $0.value.major != .other }.map(\.key)
    ).union(["m3u8", "m3u", "pls"])

    /// The media types by file extension. A file from a feed never gets the extensions `pdf` and `epub`, although they
    /// are listed here (see `mediaExtensions`). `mp4`, `webm` and `3gp` may be audio or video; without a type from the
    /// feed they count as video.
    static let extensions = Dictionary(
        synonyms.flatMap { row in row.extensions.map { ($0, row.types[0]) } } + others,
        uniquingKeysWith: { first, _ in first }
    ).mapValues { (major: major(of: $0), type: $0) }

    /// The types of extensions that no type has as one of its own.
    private static let others = [
        ("mp1", "audio/mpeg"), ("m4r", "audio/mp4"), ("f4a", "audio/mp4"), ("eac3", "audio/eac3"),
        ("dts", "audio/vnd.dts"), ("wave", "audio/wav"), ("aifc", "audio/aiff"), ("mpc", "audio/x-musepack"),
        ("wv", "audio/x-wavpack"), ("tta", "audio/x-tta"), ("amr", "audio/amr"), ("awb", "audio/amr-wb"),
        ("3ga", "audio/3gpp"), ("dsf", "audio/x-dsf"), ("dff", "audio/x-dff"), ("ra", "audio/x-pn-realaudio"),
        ("ogm", "video/ogg"), ("mpe", "video/mpeg"), ("vob", "video/mpeg"), ("mts", "video/mp2t"),
        ("m2ts", "video/mp2t"), ("divx", "video/x-msvideo"), ("asf", "video/x-ms-asf"), ("f4v", "video/mp4"),
        ("3gpp", "video/3gpp"), ("3g2", "video/3gpp2"), ("mk3d", "video/matroska"), ("rm", "video/x-pn-realvideo"),
        ("pdf", "application/pdf"), ("epub", "application/epub+zip"), (unknown, "application/octet-stream"),
    ]
}

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
