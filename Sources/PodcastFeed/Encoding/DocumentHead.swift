/// The type of a document, determined by its beginning.
enum DocumentHead: Equatable {
    /// XML whose content starts at offset `start`: after `junk` bytes that are not XML, and the XML declaration.
    case xml(start: Int, junk: Int)
    case html
    case json
    /// None of these.
    case other

    /// Determines the type.
    ///
    /// - Parameter head: The first bytes in UTF-8, without leading white space: enough to include the root element's
    ///   start, even after comments.
    static func classify(_ head: UnsafeBufferPointer<UInt8>) -> DocumentHead {
        switch head.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .json
        default: break
        }
        if isHTML(head) { return .html }
        guard let junk = start(head) else { return .other }
        return .xml(start: junk + declarationLength(UnsafeBufferPointer(rebasing: head[junk...])), junk: junk)
    }

    /// Returns the offset at which the XML starts; `nil` if there is no `<`.
    ///
    /// The offset is 0 if the document begins like XML. Otherwise other text precedes the XML, such as the warning of a
    /// web server's script. The XML then starts at the XML declaration, or else at the root tag of a feed or list of
    /// subscriptions, or else at the first `<`.
    private static func start(_ head: UnsafeBufferPointer<UInt8>) -> Int? {
        let openings = ["<?xml", "<rss", "<feed", "<rdf:RDF", "<channel", "<opml"]
        if (openings + ["<!DOCTYPE", "<!--", "<?"]).contains(where: { head.starts(with: $0.utf8) }) { return 0 }
        for opening in openings {
            if let range = head.firstRange(of: Array(opening.utf8)) { return range.lowerBound }
        }
        return head.firstIndex(of: UInt8(ascii: "<"))
    }

    /// Returns the length of the XML declaration, up to its `>`; 0 if there is none. The XML parser does not get the
    /// declaration, because the text is already converted to UTF-8, and a malformed declaration may lack its `?>`.
    private static func declarationLength(_ head: UnsafeBufferPointer<UInt8>) -> Int {
        guard head.starts(with: "<?xml".utf8), head.count > 5, head[5].isXMLSpace || head[5] == UInt8(ascii: "?"),
            let end = head.firstIndex(of: UInt8(ascii: ">"))
        else { return 0 }
        return end + 1
    }

    /// Whether the document type or the first element, after declarations and comments, is HTML's. Some programs send
    /// HTML's document type before feeds, too.
    private static func isHTML(_ head: UnsafeBufferPointer<UInt8>) -> Bool {
        var isDeclared = false
        for token in HTMLTokens(head) {
            switch token {
            case .text(let text): if !text.allSatisfy(\.isXMLSpace) { return isDeclared }
            case .tag("!--", _): break
            case .tag("!doctype", let source):
                let name = source.dropFirst(9).trimmed.prefix(while: \.isLetter)
                isDeclared = String(decoding: name, as: UTF8.self).lowercased() == "html"
            case .tag("?xml", _): if isDeclared { return false }
            case .tag(let name, _):
                if name.hasPrefix("?") { continue }
                return name == "html" || isDeclared && !["rss", "feed", "rdf:rdf", "opml"].contains(name)
            }
        }
        return isDeclared
    }

    /// Returns the title of a web page; `nil` if it has none.
    static func htmlTitle(_ page: [UInt8]) -> String? {
        for case .tag("title", let source) in HTMLTokens(page) {
            let text = source.drop { $0 != UInt8(ascii: ">") }.dropFirst().prefix { $0 != UInt8(ascii: "<") }
            return FeedValues.line(text.prefix(200))
        }
        return nil
    }
}

/// Recognition of file formats by their first bytes, so that a message can name the format of a file that is no feed.
///
/// The feed parser consults it only after rejecting a document, so that a feed with stray bytes at its beginning is
/// still parsed as a feed.
enum FileSignature {
    /// The formats that servers send in place of feeds, or whose URLs users paste: the media, the cover, an archive.
    /// `offset` is that of the bytes in the file.
    private static let signatures: [(bytes: [UInt8], offset: Int, name: String)] = [
        (Array("ID3".utf8), 0, "an MP3 file"), (Array("OggS".utf8), 0, "an Ogg file"),
        (Array("fLaC".utf8), 0, "a FLAC file"), (Array("WAVE".utf8), 8, "a WAV file"),
        (Array("AVI ".utf8), 8, "an AVI video"), (Array("WEBP".utf8), 8, "a WebP image"),
        (Array("ftypavif".utf8), 4, "an AVIF image"), (Array("ftypheic".utf8), 4, "a HEIC image"),
        (Array("ftypM4A".utf8), 4, "an M4A file"), (Array("ftyp".utf8), 4, "an MP4 file"),
        ([0x1A, 0x45, 0xDF, 0xA3], 0, "a Matroska or WebM file"), ([0x89, 0x50, 0x4E, 0x47], 0, "a PNG image"),
        ([0xFF, 0xD8, 0xFF], 0, "a JPEG image"), (Array("GIF8".utf8), 0, "a GIF image"),
        (Array("%PDF-".utf8), 0, "a PDF document"), ([0x50, 0x4B, 3, 4], 0, "a ZIP archive"),
        ([0x1F, 0x8B], 0, "a gzip archive"), (Array("#EXTM3U".utf8), 0, "a playlist"),
        (Array("[playlist]".utf8), 0, "a playlist"), (Array("WEBVTT".utf8), 0, "a transcript"),
        ([0x7F, 0x45, 0x4C, 0x46], 0, "a program"),
    ]

    /// The number of bytes to pass to `name(of:)`, if the file has as many. The signatures are within the first twelve.
    /// The share of control characters is computed over all bytes.
    static let size = 512

    /// Returns the format with an article, such as `an MP3 file`; `nil` for bytes that may be text.
    static func name(of head: [UInt8]) -> String? {
        if let found = signatures.first(where: { head.dropFirst($0.offset).starts(with: $0.bytes) }) {
            return found.name
        }
        if isAudioFrame(head) { return "an MP3 file" }
        return isBinary(head) ? "binary data" : nil
    }

    /// Whether the bytes are an MPEG audio frame without tags (ISO 11172-3, 2.4.1.3): eleven bits set, layer III, a bit
    /// rate that is neither free nor forbidden, and no reserved version or sampling frequency.
    private static func isAudioFrame(_ head: [UInt8]) -> Bool {
        guard head.count > 3, head[0] == 0xFF, head[1] & 0xE0 == 0xE0 else { return false }
        return head[1] & 0x18 != 0x08 && head[1] & 0x06 == 0x02 && (1...14).contains(head[2] >> 4)
            && head[2] & 0x0C != 0x0C
    }

    /// Whether the bytes cannot be text, because more than one in twenty is a control character that text does not
    /// contain, such as NUL. Bytes that begin with a byte order mark of UTF-16 are regarded as text.
    private static func isBinary(_ head: [UInt8]) -> Bool {
        guard !head.isEmpty, !head.starts(with: [0xFF, 0xFE]), !head.starts(with: [0xFE, 0xFF]) else { return false }
        let controls = head.count { $0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) || $0 == 0x7F }
        return controls * 20 > head.count
    }
}
