internal import PodcastLibrary
internal import Transfers

extension ContentExpectation {
    /// Creates the expectation for a file, based on the content that players infer from its extension.
    init(fileName name: String) {
        let suffix = FileName.fileExtension(of: name)
        if ["asx", "m3u", "m3u8", "mpd", "pls", "smil", "wax", "wpl", "wvx", "xspf"].contains(suffix) {
            self = .playlist
        } else if let type = MediaType.mimeType(forExtension: suffix), !type.hasPrefix("application/") {
            self = .media
        } else {
            self = .other
        }
    }
}
