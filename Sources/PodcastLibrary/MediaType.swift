/// What an enclosure is, judged by its MIME type and the path of its URL, without asking a server. Pure.
package struct MediaType: Sendable, Equatable {
    package enum Major: Int, Sendable {
        case audio = 1
        case video = 2
        case other = 3
    }

    /// `nil` when neither type nor URL tells.
    package let major: Major?
    /// The extension of the episode's file, lower case, without a dot: one of `mediaExtensions`, or `bin`.
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
            if let written, !Self.isAddress(written) {
                fileExtension = Self.allowed(written) ?? Self.unknown
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
            fileExtension = Self.allowed(written) ?? Self.unknown
        } else {
            switch typeMajor {
            case .audio: fileExtension = "mp3"
            case .video: fileExtension = "mp4"
            case .other: fileExtension = written.flatMap(Self.allowed) ?? Self.unknown
            }
        }
    }

    // MARK: What may be a file's extension

    /// The extension of what is on no list. Browsers and desktops save such a file and do nothing else with it, and web
    /// servers send it as `application/octet-stream`.
    package static let unknown = "bin"

    /// Whether a file of a feed's may have this extension.
    ///
    /// The list is of what is allowed: a list of what is not would have to name every kind of file that some program
    /// runs (SVG, XHTML, HTA, JAR, LNK, PDF with its scripts…).
    package static func isAllowed(_ fileExtension: String) -> Bool {
        fileExtension == unknown || mediaExtensions.contains(fileExtension)
    }

    private static func allowed(_ fileExtension: String) -> String? {
        isAllowed(fileExtension) ? fileExtension : nil
    }

    /// The type to tell of a feed's file: what the feed claims if that is a known type of media, else what the extension
    /// says.
    ///
    /// Some web servers send what a file's attribute `user.mime_type` says: a feed's `image/svg+xml` would run there.
    package static func told(type: String?, fileExtension: String) -> String? {
        if let type = essence(of: type), types[type] != nil { return type }
        return mimeType(forExtension: fileExtension)
    }

    /// Whether a file is video: by its type, else by its extension. For sizes.
    package static func isVideo(type: String?, fileExtension: String) -> Bool {
        if let type = essence(of: type), !generic.contains(type) { return major(of: type) == .video }
        return extensions[fileExtension.lowercased()]?.major == .video
    }

    /// The type of a file by its name alone.
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

    /// Whether a URL ends so that nothing is said of the file: as addresses of programs do that make the answer, or with
    /// a number.
    private static func isAddress(_ text: String) -> Bool {
        ["php", "asp", "aspx", "jsp", "cgi", "html", "htm"].contains(text)
            || text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
