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

    /// The number of bytes at the start of a body that are checked for text. If all of them are text, the body is text:
    /// no media format starts with that much text.
    package static let textWindow = 512
    /// The number of bytes at the start of a body that are searched for media if the body does not start with a known
    /// signature, for example because of padding or a broken frame. Four of the largest MPEG frames fit.
    package static let searchWindow = 8 * 1_024

    /// Classifies the beginning of a body.
    ///
    /// - Parameters:
    ///   - bytes: All bytes received so far, from byte 0.
    ///   - isWhole: Whether no more bytes will follow.
    ///   - searches: Whether to search for media after unknown bytes, which needs more bytes.
    /// - Returns: `nil` if more bytes are needed.
    package init?(_ bytes: some Collection<UInt8>, isWhole: Bool, searches: Bool = false) {
        let bytes = Array(bytes.prefix(Self.searchWindow))
        if bytes.isEmpty {
            guard isWhole else { return nil }
            self = .document(.text)
            return
        }
        let text = TextBeginning(bytes)
        switch text.document(isWhole: isWhole) {
        case .document(let document):
            self = .document(document)
            return
        case .undecided: return nil
        case .nothing: break
        }
        if let format = MediaFormat(signatureOf: bytes, isWhole: isWhole) {
            self = .media(format)
            return
        }
        if text.isText(upTo: Self.textWindow) {
            guard isWhole || bytes.count >= Self.textWindow else { return nil }
            self = .document(.text)
            return
        }
        if searches {
            if let format = MediaFormat(searchedIn: bytes) {
                self = .media(format)
                return
            }
            guard isWhole || bytes.count >= Self.searchWindow else { return nil }
        }
        self = .binary
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
    /// - Parameters:
    ///   - doubt: How strongly the response head suggests that the body is not media. If media are expected and the
    ///     doubt is strong, a binary body of unknown format is rejected.
    ///   - head: The response head. Its content coding or media type is named in the reason for such a rejection. If
    ///     it is `nil`, a binary body is not rejected.
    package func refusal(
        of content: BodyContent, doubt: ResponseHead.Doubt = .none, _ head: ResponseHead? = nil
    ) -> TransferError? {
        switch content {
        case .media: nil
        case .document(let document):
            refuses(document)
                ? TransferError(.unusable, "the server sent \(document.rawValue) instead of \(noun)") : nil
        case .binary: self == .media && doubt == .strong ? head.map(Self.refusal) : nil
        }
    }

    /// Returns the reason to reject a body because of the response head alone.
    static func refusal(_ head: ResponseHead) -> TransferError {
        if let coding = head.contentCoding {
            return TransferError(.unusable, "the server sent the file with Content-Encoding \(coding)")
        }
        return TransferError(.unusable, "the server sent \(head.mediaType ?? "no type") instead of media")
    }
}
