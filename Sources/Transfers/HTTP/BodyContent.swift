/// The kind of content that the first bytes of a body show.
///
/// The bytes decide, not the type claimed by the server: Apache and nginx send media with unknown suffixes as
/// `text/plain`, and error pages are sent as `audio/mpeg`.
package enum BodyContent: Sendable, Equatable {
    /// The body starts with the signature of a known format.
    case media(MediaFormat)
    /// A document, to be read rather than played.
    case document(Document)
    /// Neither a known format nor a document: possibly media of an unknown format.
    case binary

    /// A kind of document that is not media.
    package enum Document: String, Sendable, CaseIterable {
        case webPage = "a web page"
        case xml = "an XML document"
        case json = "JSON"
        /// A list of other files or addresses, which a player would follow.
        case playlist = "a playlist"
        case text = "text"
        /// The format of uploads to S3, with a signature before each chunk of the file.
        case signedChunks = "the file in S3's upload encoding (signed chunks)"
    }

    /// The number of bytes at the start of a body that are examined. If all of them are text, the body is text: no
    /// media format starts with that much text.
    package static let window = 512

    /// Classifies the beginning of a body.
    ///
    /// - Parameters:
    ///   - bytes: All bytes received so far, from byte 0.
    ///   - isWhole: Whether no more bytes will follow.
    /// - Returns: `nil` if more bytes are needed.
    package init?(_ bytes: some Collection<UInt8>, isWhole: Bool) {
        let bytes = Array(bytes.prefix(Self.window))
        let isEnough = isWhole || bytes.count == Self.window
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        // Without byte order mark and leading white space, and with ASCII letters in lower case.
        let text = (bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...])
            .drop { " \t\r\n\u{C}".utf8.contains($0) }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if let document = Self.document(text) {
            self = .document(document)
        } else if Self.isMarkup(text) {
            guard isEnough else { return nil }
            self = .document(.xml)
        } else if !Self.isUTF16(bytes), let format = MediaFormat(signatureOf: bytes) {
            self = .media(format)
        } else if Self.isText(bytes) || Self.isUTF16(bytes) {
            guard isEnough else { return nil }
            self = .document(.text)
        } else {
            self = .binary
        }
    }

    /// Beginnings of the first line by which players recognize lists of other files: M3U, PLS, ASX in its older form,
    /// Internet shortcuts, EDL of mpv and MPlayer, ffmpeg's concatenation script, cue sheets, and redirections to RTSP
    /// and SMIL.
    private static let playlists = [
        "#extm3u", "#extinf", "[playlist]", "[reference]", "[internetshortcut]", "# mpv edl", "mplayer edl",
        "ffconcat version", "file \"", "rem genre", "rem date", "performer \"", "title \"", "rtsptext", "smiltext",
    ]

    /// Markup by which an HTML page differs from other XML.
    private static let pageMarkup = [
        "<!doctype html", "<html", "<script", "<div", "<h1", "<center", "<p>", "<br", "<table",
    ]

    /// Returns the kind of document if the first characters show it. Later bytes do not matter, even if they are not
    /// text, because a player decides by the first line whether a file is a playlist.
    private static func document(_ text: [UInt8]) -> Document? {
        if playlists.contains(where: { text.starts(with: $0.utf8) }) { return .playlist }
        if isMarkup(text), pageMarkup.contains(where: { text.firstRange(of: Array($0.utf8)) != nil }) {
            return .webPage
        }
        if let first = text.first, "{[".utf8.contains(first), isText(Array(text.prefix(64))),
            let next = text.dropFirst().first(where: { !" \t\r\n".utf8.contains($0) }),
            (first == UInt8(ascii: "{") ? "\"}" : "[{\"]-0123456789tfn").utf8.contains(next)
        {
            return .json
        }
        let digits = text.prefix { "0123456789abcdef".utf8.contains($0) }
        let isChunk = (1...8).contains(digits.count) && text[digits.count...].starts(with: ";chunk-signature=".utf8)
        return isChunk ? .signedChunks : nil
    }

    /// Whether the first element of a document begins here. No media format starts like that.
    private static func isMarkup(_ text: [UInt8]) -> Bool {
        text.count > 1 && text[0] == UInt8(ascii: "<")
            && ((0x61...0x7A).contains(text[1]) || "!?/".utf8.contains(text[1]))
    }

    /// Returns whether the bytes are UTF-8 text, perhaps with a character cut at the end, that contains neither DEL nor
    /// any of the WHATWG's binary data bytes.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains { $0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) || $0 == 0x7F }
            && (0...3).contains { String(validating: bytes.dropLast($0), as: UTF8.self) != nil }
    }

    /// Returns whether the bytes are ASCII characters in UTF-16 after a byte order mark. mpv accepts playlists in it.
    private static func isUTF16(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 4 && (bytes.starts(with: [0xFF, 0xFE]) && bytes[3] == 0 || bytes.starts(with: [0xFE, 0xFF, 0]))
    }
}

/// The expected content of a download.
package enum ContentExpectation: Sendable, Equatable {
    case media
    /// A playlist, according to the feed.
    case playlist
    /// A book or an archive: only web pages and signed chunks (the format of uploads to S3) are errors.
    case other

    /// The expected content, as worded in an error message.
    private var noun: String {
        switch self {
        case .media: "media"
        case .playlist: "a playlist"
        case .other: "the file itself"
        }
    }

    /// Returns whether a document of this kind is an error page or otherwise not the expected file.
    package func refuses(_ document: BodyContent.Document) -> Bool {
        switch self {
        case .media: true
        case .playlist: document == .webPage || document == .json || document == .signedChunks
        case .other: document == .webPage || document == .signedChunks
        }
    }

    /// Returns the reason to reject a body with unexpected content; `nil` if it is acceptable.
    ///
    /// - Parameter head: The response head; `nil` if it has been accepted already. If media are expected and the head
    ///   suggests strongly that the body is none, a binary body of unknown format is rejected.
    package func refusal(of content: BodyContent, _ head: ResponseHead? = nil) -> TransferError? {
        switch content {
        case .media: nil
        case .document(let document):
            refuses(document)
                ? TransferError(.unusable, "the server sent \(document.rawValue) instead of \(noun)") : nil
        case .binary: self == .media && head?.doubt == .strong ? head.map(Self.refusal) : nil
        }
    }

    /// Returns the reason to reject a body because of its media type alone.
    static func refusal(_ head: ResponseHead) -> TransferError {
        TransferError(.unusable, "the server sent \(head.mediaType ?? "no type") instead of media")
    }
}
