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
