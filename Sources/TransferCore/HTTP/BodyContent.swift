/// What the first bytes of a body show it to be.
///
/// The bytes decide what an answer is, not the type that the server claims: Apache and nginx send media whose suffix
/// they do not know as `text/plain`, and error pages come as `audio/mpeg`.
package enum BodyContent: Sendable, Equatable {
    /// Begins as a format of the table does.
    case media(MediaFormat)
    /// Something that is read rather than played.
    case document(Document)
    /// Neither: perhaps media that the table does not know.
    case binary

    package enum Document: String, Sendable, CaseIterable {
        case webPage = "a web page"
        case xml = "an XML document"
        case json = "JSON"
        /// Names other files or addresses, which a player would follow.
        case playlist = "a playlist"
        case text = "text"
        /// What an uploader to S3 sends, signatures among the bytes.
        case signedChunks = "signed chunks in place of their content,"
    }

    /// Text is called text when so many bytes of it are (or all, of a shorter body): no medium begins with a page of it.
    package static let textWindow = 512
    /// Media that begin with something else (padding, a broken frame) are found within so many bytes: four of the largest
    /// MPEG frames.
    package static let searchWindow = 8 * 1_024

    /// Classifies the beginning of a body.
    ///
    /// - Parameters:
    ///   - bytes: from byte 0 on, all that has come.
    ///   - isWhole: nothing will follow.
    ///   - searches: whether media behind something unknown are to be found, which takes more bytes.
    /// - Returns: `nil` when more bytes are needed to tell.
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
