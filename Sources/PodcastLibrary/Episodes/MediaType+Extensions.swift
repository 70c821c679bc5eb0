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

    /// The media types used by podcasts, with their extensions (IANA's registrations, RFC 3003, RFC
    /// 4337, RFC 5334, RFC 6381, RFC 8216, and the older `x-` names).
    private static let synonyms: [(types: [String], extensions: [String])] = [
        (["audio/mpeg"], ["mp3", "mp2", "mpga", "mpa"]),
        (["audio/mp3", "audio/x-mp3", "audio/mpeg3", "audio/x-mpeg", "audio/mpg"], ["mp3"]),
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
        (["audio/webm"], ["webm", "weba"]),
        (["audio/matroska", "audio/x-matroska"], ["mka"]),
        (["audio/x-ms-wma"], ["wma"]),
        (["audio/basic"], ["au", "snd"]),
        (["audio/midi"], ["mid", "midi"]),
        (["audio/3gpp", "video/3gpp"], ["3gp"]),
        (["video/mp4"], ["mp4", "m4v"]),
        (["video/x-m4v", "video/m4v"], ["m4v", "mp4"]),
        (["video/quicktime"], ["mov", "qt"]),
        (["video/mpeg"], ["mpg", "mpeg", "m2v"]),
        (["video/webm"], ["webm"]),
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
    static let extensions: [String: (major: Major, type: String)] = [
        "mp3": (.audio, "audio/mpeg"), "mp2": (.audio, "audio/mpeg"), "mpga": (.audio, "audio/mpeg"),
        "m4a": (.audio, "audio/mp4"), "m4b": (.audio, "audio/mp4"), "aac": (.audio, "audio/aac"),
        "ogg": (.audio, "audio/ogg"), "oga": (.audio, "audio/ogg"), "opus": (.audio, "audio/ogg"),
        "spx": (.audio, "audio/ogg"), "flac": (.audio, "audio/flac"), "wav": (.audio, "audio/wav"),
        "aif": (.audio, "audio/aiff"), "aiff": (.audio, "audio/aiff"), "mka": (.audio, "audio/matroska"),
        "weba": (.audio, "audio/webm"), "wma": (.audio, "audio/x-ms-wma"), "au": (.audio, "audio/basic"),
        "mid": (.audio, "audio/midi"), "mp4": (.video, "video/mp4"), "m4v": (.video, "video/mp4"),
        "mov": (.video, "video/quicktime"), "qt": (.video, "video/quicktime"), "mpg": (.video, "video/mpeg"),
        "mpeg": (.video, "video/mpeg"), "webm": (.video, "video/webm"), "ogv": (.video, "video/ogg"),
        "mkv": (.video, "video/matroska"), "avi": (.video, "video/x-msvideo"), "wmv": (.video, "video/x-ms-wmv"),
        "flv": (.video, "video/x-flv"), "3gp": (.video, "video/3gpp"), "ts": (.video, "video/mp2t"),
        "mp1": (.audio, "audio/mpeg"), "mpa": (.audio, "audio/mpeg"), "m4r": (.audio, "audio/mp4"),
        "adts": (.audio, "audio/aac"), "ac3": (.audio, "audio/ac3"), "eac3": (.audio, "audio/eac3"),
        "dts": (.audio, "audio/vnd.dts"), "wave": (.audio, "audio/wav"), "aifc": (.audio, "audio/aiff"),
        "snd": (.audio, "audio/basic"), "midi": (.audio, "audio/midi"), "ape": (.audio, "audio/x-ape"),
        "caf": (.audio, "audio/x-caf"), "mpc": (.audio, "audio/x-musepack"), "wv": (.audio, "audio/x-wavpack"),
        "tta": (.audio, "audio/x-tta"), "amr": (.audio, "audio/amr"), "awb": (.audio, "audio/amr-wb"),
        "3ga": (.audio, "audio/3gpp"), "dsf": (.audio, "audio/x-dsf"), "dff": (.audio, "audio/x-dff"),
        "ra": (.audio, "audio/x-pn-realaudio"),
        "ogx": (.video, "application/ogg"), "ogm": (.video, "video/ogg"), "mpe": (.video, "video/mpeg"),
        "m2v": (.video, "video/mpeg"), "vob": (.video, "video/mpeg"), "mts": (.video, "video/mp2t"),
        "m2ts": (.video, "video/mp2t"), "divx": (.video, "video/x-msvideo"), "asf": (.video, "video/x-ms-asf"),
        "f4v": (.video, "video/mp4"), "f4a": (.audio, "audio/mp4"), "3gpp": (.video, "video/3gpp"),
        "3g2": (.video, "video/3gpp2"), "mk3d": (.video, "video/matroska"), "rm": (.video, "video/x-pn-realvideo"),
        "m3u8": (.other, "application/vnd.apple.mpegurl"), "m3u": (.other, "audio/x-mpegurl"),
        "pls": (.other, "audio/x-scpls"),
        "pdf": (.other, "application/pdf"), "epub": (.other, "application/epub+zip"),
        unknown: (.other, "application/octet-stream"),
    ]
}
