internal import Platform

extension Enclosure {
    /// The kind of a file, as far as its MIME type and URL show.
    package enum Kind: Sendable {
        /// Audio or video.
        case media
        /// An HTTP Live Streaming playlist, whose media files players fetch themselves.
        case stream
        /// A file that may be media; only its content shows whether it is.
        case unknown
        /// An image, a document, a page, a torrent, or any file whose URL is not http or https.
        case other
    }

    /// The kind according to the MIME type, or to the file extension in the URL if the type is vague.
    package var kind: Kind {
        // A URL is still relative if its base is unknown; it counts as http.
        guard WebAddress.isValid(url) || URLReference.scheme(of: url) == nil else { return .other }
        let type = self.type ?? ""
        if type.hasPrefix("audio") || type.hasPrefix("video") {
            return Self.streamTypes.contains(type) ? .stream : .media
        }
        if Self.streamTypes.contains(type) { return .stream }
        if type == "application/ogg" { return .media }
        let suffix = URLReference.pathExtension(of: url)
        let hasMediaExtension = Self.mediaExtensions.contains(suffix)
        // A type that is missing, generic or not a MIME type says nothing.
        if type.isEmpty || !type.contains("/") || Self.vagueTypes.contains(type) {
            if suffix == "m3u8" { return .stream }
            return hasMediaExtension ? .media : Self.otherExtensions.contains(suffix) ? .other : .unknown
        }
        // Some servers label every file as a web page, so the type proves nothing if the file has a media extension.
        if hasMediaExtension { return .unknown }
        let isOther = ["image/", "text/", "font/"].contains(where: type.hasPrefix) || Self.otherTypes.contains(type)
        return isOther ? .other : .unknown
    }

    private static let vagueTypes: Set<String> = [
        "application/octet-stream", "application/x-octet-stream", "binary/octet-stream", "application/unknown",
        "application/force-download", "application/download", "application/x-download", "application/mp4",
        "application/mp3", "application/mpeg", "text/plain",
    ]

    /// The types of RFC 8216, section 10, and their predecessors.
    private static let streamTypes: Set<String> = [
        "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
    ]

    private static let mediaExtensions: Set<String> = [
        "mp3", "m4a", "m4b", "aac", "ogg", "oga", "opus", "flac", "wav", "wma", "aif", "aiff", "mka", "weba", "mp2",
        "mp4", "m4v", "mov", "mkv", "webm", "avi", "mpg", "mpeg", "ogv", "3gp", "wmv",
    ]

    private static let otherTypes: Set<String> = [
        "application/pdf", "application/epub+zip", "application/x-bittorrent", "application/zip", "application/json",
        "application/xml", "application/rss+xml", "application/atom+xml", "application/xhtml+xml", "application/msword",
        "application/x-shockwave-flash", "application/javascript", "application/json+chapters", "application/x-subrip",
    ]

    private static let otherExtensions: Set<String> = [
        "jpg", "jpeg", "png", "gif", "webp", "svg", "avif", "bmp", "pdf", "epub", "mobi", "html", "htm", "xhtml", "php",
        "zip", "torrent", "txt", "doc", "docx", "rtf", "json", "xml", "rss", "srt", "vtt", "swf", "js",
    ]

    /// Divides the enclosures of an item into playable ones and others. Their kind decides, not their order.
    ///
    /// - Parameters:
    ///   - enclosures: The item's own enclosures.
    ///   - contents: The `media:content` elements that are audio or video according to their attributes.
    ///   - alternates: The sources of `podcast:alternateEnclosure`.
    /// - Returns: The playable enclosures, the main one first, each URL once; and the item's other enclosures.
    static func divided(
        _ enclosures: [Enclosure], contents: [Enclosure] = [], alternates: [Enclosure] = []
    ) -> (playable: [Enclosure], others: [Enclosure]) {
        if enclosures.count == 1, enclosures[0].kind == .media { return (enclosures, []) }
        let own = enclosures.filter { $0.kind != .other }
        let others = enclosures.count == own.count ? [] : enclosures.filter { $0.kind == .other }
        if own.contains(where: { $0.kind != .stream }) { return (selected(from: own), others) }
        // The item's own playable enclosures, if any, are all streams. Media files from other elements precede them.
        for group in [contents, alternates] {
            let files = group.filter { $0.kind == .media || $0.kind == .unknown }
            if !files.isEmpty { return (selected(from: files + own), others) }
        }
        return (selected(from: own + (contents + alternates).filter { $0.kind == .stream }), others)
    }

    /// Returns the first audio or video, or else the first unknown file, followed by the others in the document's
    /// order, each URL once. A later mention of a URL supplies a missing length or type.
    private static func selected(from all: [Enclosure]) -> [Enclosure] {
        guard all.count > 1 else { return all }
        var chosen: [Enclosure] = []
        var indices: [String: Int] = [:]
        for enclosure in all {
            if let index = indices[enclosure.url] {
                chosen[index].length = chosen[index].length ?? enclosure.length
                chosen[index].type = chosen[index].type ?? enclosure.type
            } else {
                indices[enclosure.url] = chosen.count
                chosen.append(enclosure)
            }
        }
        let best = chosen.firstIndex { $0.kind == .media } ?? chosen.firstIndex { $0.kind == .unknown }
        if let best, best > 0 { chosen.insert(chosen.remove(at: best), at: 0) }
        return chosen
    }
}
