/// What a download is to bring.
package enum ContentExpectation: Sendable, Equatable {
    case media
    /// The feed calls the file a playlist.
    case playlist
    /// A book, an archive: only a page in its place is an error.
    case other

    package func refuses(_ document: BodyContent.Document) -> Bool {
        switch self {
        case .media: true
        case .playlist: document == .webPage || document == .json || document == .signedChunks
        case .other: document == .webPage || document == .signedChunks
        }
    }

    /// Why a body is not what is expected, if it is not.
    ///
    /// - Parameters:
    ///   - doubt: how much its head speaks against media. With a strong one only a known format is believed.
    ///   - head: names the type in the reason.
    package func refusal(
        of content: BodyContent, doubt: ResponseHead.Doubt = .none, _ head: ResponseHead? = nil
    ) -> TransferError? {
        switch content {
        case .media: nil
        case .document(let document):
            refuses(document)
                ? TransferError(.unusable, "the server sent \(document.rawValue) in place of media") : nil
        case .binary: self == .media && doubt == .strong ? head.map(Self.refusal) : nil
        }
    }

    /// The reason to refuse a body for its head alone.
    static func refusal(_ head: ResponseHead) -> TransferError {
        if let coding = head.contentCoding {
            return TransferError(.unusable, "the server sent the file with Content-Encoding \(coding)")
        }
        return TransferError(.unusable, "the server sent \(head.mediaType ?? "no type") in place of media")
    }
}
