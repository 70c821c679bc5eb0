/// A decoder of a document in any encoding to UTF-8, piece by piece. Bytes that are invalid in a document of UTF-8
/// remain, for `UTF8Cleaner`.
///
/// Not thread-safe.
final class DocumentDecoder {
    private let contentType: String?
    /// The first bytes, until there are enough to determine the encoding; `nil` afterwards.
    private var head: [UInt8]? = []
    private var converter: CharsetConverter?
    /// Whether bytes that are not UTF-8 need no diagnostic, because the document is labeled as Latin-1 or is converted.
    private(set) var expectsRepairs = false
    private(set) var diagnostics: [Diagnostic] = []

    /// The number of bytes from which the encoding is determined. The XML declaration is within the first hundred; the
    /// text after it helps to guess.
    private static let headSize = 32 << 10
    /// The maximum number of bytes that are converted together.
    private static let pieceSize = 64 << 10

    /// - Parameter contentType: The value of the response's Content-Type field, for its `charset`.
    init(contentType: String?) { self.contentType = contentType }

    /// Decodes the next bytes.
    ///
    /// - Parameter receive: Receives the text without its byte order mark, in pieces that may end inside a character.
    func decode(_ bytes: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Void) {
        guard var head else { return convert(bytes, receive) }
        self.head = nil
        let missing = bytes.prefix(Self.headSize - head.count)
        head.append(contentsOf: missing)
        if head.count < Self.headSize {
            self.head = head
            return
        }
        begin(with: head, receive)
        convert(UnsafeRawBufferPointer(rebasing: bytes[missing.endIndex...]), receive)
    }

    /// Decodes the rest of the document.
    func finish(_ receive: (UnsafeRawBufferPointer) -> Void) {
        if let head {
            self.head = nil
            begin(with: head, receive)
        }
        converter?.finish().withUnsafeBytes(receive)
    }

    private func begin(with head: [UInt8], _ receive: (UnsafeRawBufferPointer) -> Void) {
        let detected = DocumentEncoding.detect(head, contentType: contentType)
        if let message = detected.diagnostic { diagnostics.append(Diagnostic(line: 1, message: message)) }
        if case .named(let name) = detected.encoding {
            converter = CharsetConverter(from: name)
            if converter == nil {
                let message = "this system cannot read the encoding \(name): the text is read as UTF-8"
                diagnostics.append(Diagnostic(line: 1, message: message))
            }
        }
        expectsRepairs = detected.expectsLatin || converter != nil
        head.withUnsafeBytes { convert(UnsafeRawBufferPointer(rebasing: $0[detected.markLength...]), receive) }
    }

    private func convert(_ bytes: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Void) {
        guard let converter else { return receive(bytes) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceSize))
            rest = rest.dropFirst(part.count)
            converter.convert(part).withUnsafeBytes(receive)
        }
    }
}

/// A decoder of text in any encoding to valid UTF-8, piece by piece.
package struct TextDecoder {
    private let decoder: DocumentDecoder
    private var cleaner = UTF8Cleaner()

    /// - Parameter contentType: The value of the response's Content-Type field, for its `charset`.
    package init(contentType: String? = nil) { decoder = DocumentDecoder(contentType: contentType) }

    /// Returns the text of a complete document.
    package static func text(of bytes: [UInt8], contentType: String? = nil) -> [UInt8] {
        var decoder = TextDecoder(contentType: contentType)
        return decoder.decode(bytes) + decoder.finish()
    }

    /// Returns the text of the next piece of the document.
    package mutating func decode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        bytes.withUnsafeBytes { decoder.decode($0) { clean($0, &text) } }
        return text
    }

    /// Returns the rest of the text at the end of the document.
    package mutating func finish() -> [UInt8] {
        var text: [UInt8] = []
        decoder.finish { clean($0, &text) }
        var block = UTF8Cleaner.Block(size: 0)
        cleaner.finish(into: &block)
        return text + block.contents
    }

    private mutating func clean(_ piece: UnsafeRawBufferPointer, _ text: inout [UInt8]) {
        // A byte becomes at most three; the incomplete character before the piece has at most three bytes.
        var block = UTF8Cleaner.Block(size: 3 * (piece.count + 3) + 1)
        _ = cleaner.clean(piece, into: &block)
        text += block.contents
    }
}
