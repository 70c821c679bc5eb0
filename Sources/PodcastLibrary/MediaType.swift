/// What an enclosure is, judged by its MIME type and the path of its URL, without asking a server. Pure.
package struct MediaType: Sendable, Equatable {
    package enum Major: Int, Sendable {
        case audio = 1
        case video = 2
        case other = 3
    }

    /// `nil` when neither type nor URL tells.
    package let major: Major?
    /// The extension of the episode's file, lower case, without a dot.
    package let fileExtension: String

    /// - Parameters:
    ///   - type: the MIME type as the feed claims it; parameters are ignored.
    ///   - url: the media URL; only the end of its path is looked at.
    package init(type: String?, url: String) {
        let type = Self.essence(of: type)
        let written = Self.pathExtension(of: url)
        let known = written.flatMap { Self.extensions[$0] }

        guard let type, !Self.generic.contains(type) else {
            major = known?.major
            if let written, known != nil || Self.isUsable(written) {
                fileExtension = written
            } else {
                // An enclosure that says nothing about itself is nearly always an MP3, and players look at the content.
                fileExtension = "mp3"
            }
            return
        }

        let typeMajor = Self.major(of: type)
        major = typeMajor
        if let own = Self.types[type] {
            // The first extension of a type is the usual one; the others fit too.
            fileExtension = written.flatMap { own.contains($0) ? $0 : nil } ?? own[0]
        } else if let written, let known, known.major == typeMajor {
            fileExtension = written
        } else {
            switch typeMajor {
            case .audio: fileExtension = "mp3"
            case .video: fileExtension = "mp4"
            case .other: fileExtension = written.flatMap { Self.isUsable($0) ? $0 : nil } ?? "bin"
            }
        }
    }

    /// Whether a file is video: by its type, else by its extension. For sizes.
    package static func isVideo(type: String?, fileExtension: String) -> Bool {
        if let type = essence(of: type), !generic.contains(type) { return major(of: type) == .video }
        return extensions[fileExtension.lowercased()]?.major == .video
    }

    /// The type to tell for a file when its feed says nothing of use.
    package static func mimeType(forExtension fileExtension: String) -> String? {
        extensions[fileExtension.lowercased()]?.type
    }

    private static func major(of type: String) -> Major {
        if type.hasPrefix("audio/") || type == "application/ogg" { return .audio }
        if type.hasPrefix("video/") { return .video }
        return .other
    }

    /// `audio/mpeg` of `Audio/MPEG; charset=utf-8`; `nil` when there is no type in it.
    private static func essence(of type: String?) -> String? {
        guard let type else { return nil }
        // As nearly all are written; a listing asks for each episode.
        if type.utf8.allSatisfy({ isAlphanumeric($0) || "/-+.".utf8.contains($0) }) {
            return type.utf8.contains(UInt8(ascii: "/")) ? type : nil
        }
        let bare = type.prefix { $0 != ";" && $0 != "," }.filter { !$0.isWhitespace }.lowercased()
        return bare.isEmpty || !bare.utf8.contains(UInt8(ascii: "/")) ? nil : bare
    }

    /// The extension of the last component of a URL's path, lower case; `nil` when there is none.
    static func pathExtension(of url: String) -> String? {
        let slash = UInt8(ascii: "/")
        var path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if let colon = path.firstIndex(of: UInt8(ascii: ":")), path[colon...].starts(with: "://".utf8) {
            path = path[path.index(colon, offsetBy: 3)...]
            // A host is not a file name: `https://example.com` has no extension.
            guard let first = path.firstIndex(of: slash) else { return nil }
            path = path[first...]
        }
        if let last = path.lastIndex(of: slash) { path = path[path.index(after: last)...] }
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")), dot > path.startIndex else { return nil }
        let text = Substring(path[path.index(after: dot)...]).lowercased()
        // Longer than "webm" by some, and letters and digits only: else the dot belonged to a title.
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAlphanumeric) else { return nil }
        return text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Whether an extension that is in no table may be an episode's: not a program's that made the answer, nor one of
    /// the files that lie beside an episode and share its stem.
    private static func isUsable(_ text: String) -> Bool {
        !["php", "asp", "aspx", "jsp", "cgi", "html", "htm"].contains(text)
            && !["jpg", "jpeg", "png", "vtt", "srt", "json", "txt"].contains(text)
            && !text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Types that servers and feeds give when they do not know.
    private static let generic: Set<String> = [
        "application/octet-stream", "binary/octet-stream", "application/binary", "application/force-download",
        "application/x-download", "text/plain", "text/html", "unknown/unknown",
    ]

    /// The extensions of the media types that podcasts use, the usual one first (IANA's registrations, RFC 3003,
    /// RFC 4337, RFC 5334, RFC 6381, and the `x-` names that are older than they).
    private static let types: [String: [String]] = [
        "audio/mpeg": ["mp3", "mp2", "mpga", "mpa"],
        "audio/mp3": ["mp3"],
        "audio/x-mp3": ["mp3"],
        "audio/mpeg3": ["mp3"],
        "audio/x-mpeg": ["mp3"],
        "audio/mpg": ["mp3"],
        "audio/mp4": ["m4a", "m4b", "mp4"],
        "audio/x-m4a": ["m4a", "m4b", "mp4"],
        "audio/m4a": ["m4a", "m4b", "mp4"],
        "audio/m4b": ["m4b", "m4a"],
        "audio/x-m4b": ["m4b", "m4a"],
        "audio/mp4a-latm": ["m4a", "mp4"],
        "audio/aac": ["aac", "m4a", "adts"],
        "audio/aacp": ["aac", "m4a"],
        "audio/x-aac": ["aac", "m4a"],
        "audio/ogg": ["ogg", "oga", "opus", "spx"],
        "application/ogg": ["ogg", "oga", "opus", "ogx"],
        "audio/vorbis": ["ogg", "oga"],
        "audio/opus": ["opus", "ogg", "oga"],
        "audio/flac": ["flac"],
        "audio/x-flac": ["flac"],
        "audio/wav": ["wav"],
        "audio/wave": ["wav"],
        "audio/x-wav": ["wav"],
        "audio/vnd.wave": ["wav"],
        "audio/aiff": ["aiff", "aif"],
        "audio/x-aiff": ["aiff", "aif"],
        "audio/webm": ["webm", "weba"],
        "audio/matroska": ["mka"],
        "audio/x-matroska": ["mka"],
        "audio/x-ms-wma": ["wma"],
        "audio/basic": ["au", "snd"],
        "audio/midi": ["mid", "midi"],
        "audio/3gpp": ["3gp"],
        "video/mp4": ["mp4", "m4v"],
        "video/x-m4v": ["m4v", "mp4"],
        "video/m4v": ["m4v", "mp4"],
        "video/quicktime": ["mov", "qt"],
        "video/mpeg": ["mpg", "mpeg", "m2v"],
        "video/webm": ["webm"],
        "video/ogg": ["ogv", "ogg"],
        "video/matroska": ["mkv"],
        "video/x-matroska": ["mkv"],
        "video/x-msvideo": ["avi"],
        "video/avi": ["avi"],
        "video/x-ms-wmv": ["wmv"],
        "video/x-flv": ["flv"],
        "video/3gpp": ["3gp"],
        "video/mp2t": ["ts"],
        "application/pdf": ["pdf"],
        "application/epub+zip": ["epub"],
        "application/zip": ["zip"],
        "application/x-bittorrent": ["torrent"],
    ]

    /// The same the other way round. `mp4`, `webm` and `3gp` hold both; a feed that says nothing means the video.
    private static let extensions: [String: (major: Major, type: String)] = [
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
        "pdf": (.other, "application/pdf"), "epub": (.other, "application/epub+zip"),
    ]
}
