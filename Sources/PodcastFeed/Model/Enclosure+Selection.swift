extension Enclosure {
    /// Whether this is playable: by its type, or by the URL's extension if the type is vague.
    package var isAudioOrVideo: Bool {
        let type = self.type ?? ""
        if type.hasPrefix("audio") || type.hasPrefix("video") || type == "application/ogg" { return true }
        // Values sent by servers that do not know the type: nothing, bytes, or a word that is not a MIME type.
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

    /// Returns the enclosures of one item: the first audio or video first, the others in the document's order, each URL
    /// once. Later occurrences of a URL supply missing attributes.
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
