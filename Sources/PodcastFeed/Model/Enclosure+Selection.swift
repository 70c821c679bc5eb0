extension Enclosure {
    /// Whether this is something to play: by its type, and by the URL's extension where the type says too little.
    package var isAudioOrVideo: Bool {
        let type = self.type ?? ""
        if type.hasPrefix("audio") || type.hasPrefix("video") || type == "application/ogg" { return true }
        // What servers say when they do not know: nothing, bytes, or a word that is no MIME type.
        let isVague = type.isEmpty || !type.contains("/") || Self.vagueTypes.contains(type)
        return isVague && hasMediaExtension
    }

    private var hasMediaExtension: Bool {
        let path = URLReference.path(of: url)
        guard let dot = path.lastIndex(of: ".") else { return false }
        return Self.mediaExtensions.contains(path[path.index(after: dot)...].lowercased())
    }

    private static let vagueTypes: Set<String> = [
        "application/octet-stream", "application/x-octet-stream", "binary/octet-stream", "application/unknown",
        "application/force-download", "application/download", "application/x-download", "application/mp4",
        "application/mp3", "application/mpeg", "text/plain",
    ]

    private static let mediaExtensions: Set<String> = [
        "mp3", "m4a", "m4b", "aac", "ogg", "oga", "opus", "flac", "wav", "wma", "aif", "aiff", "mka", "weba", "mp2",
        "mp4", "m4v", "mov", "mkv", "webm", "avi", "mpg", "mpeg", "ogv", "3gp", "wmv",
    ]

    /// The enclosures of one item: the first audio or video first, the others after it in the document's order, no URL
    /// twice. A later mention of a URL fills in what the first left out.
    static func selected(from all: [Enclosure]) -> [Enclosure] {
        guard all.count > 1 else { return all }
        var chosen: [Enclosure] = []
        var places: [String: Int] = [:]
        for enclosure in all {
            if let place = places[enclosure.url] {
                chosen[place].length = chosen[place].length ?? enclosure.length
                chosen[place].type = chosen[place].type ?? enclosure.type
            } else {
                places[enclosure.url] = chosen.count
                chosen.append(enclosure)
            }
        }
        if let first = chosen.firstIndex(where: \.isAudioOrVideo), first > 0 {
            chosen.insert(chosen.remove(at: first), at: 0)
        }
        return chosen
    }
}
