/// A decoder of a document in any encoding to clean UTF-8, block by block.
struct DocumentDecoder {
    private let converter: CharsetConverter?
    private var cleaner = UTF8Cleaner()
    /// The length of the byte order mark before the next block.
    private var markLength: Int
    /// Whether bytes that are not UTF-8 need no diagnostic, because the document is labeled as Latin-1 or is converted.
    let expectsRepairs: Bool
    private(set) var diagnostics: [Diagnostic] = []

    /// - Parameters:
    ///   - beginning: The document's first bytes.
    ///   - contentType: The value of the response's Content-Type field, for its `charset`.
    init(beginning: UnsafeRawBufferPointer, contentType: String?) {
        // The XML declaration is within the first hundred bytes; the text after it helps to guess.
        let detected = DocumentEncoding.detect(Array(beginning.prefix(32 << 10)), contentType: contentType)
        converter = detected.encoding.flatMap(CharsetConverter.init)
        markLength = detected.markLength
        expectsRepairs = detected.expectsLatin || converter != nil
        var messages = [detected.diagnostic].compactMap(\.self)
        if let name = detected.encoding, converter == nil {
            messages.append("this system cannot read the encoding \(name): the text is read as UTF-8")
        }
        diagnostics = messages.map { Diagnostic(line: 1, message: $0) }
    }

    /// Decodes the next block, and appends it to `text`.
    ///
    /// - Returns: The offset in the text of the first mistake of each kind.
    mutating func decode(
        _ block: UnsafeRawBufferPointer, isLast: Bool, into text: inout ByteBuffer
    ) -> InlineArray<2, Int?> {
        let rest = UnsafeRawBufferPointer(rebasing: block.dropFirst(markLength))
        markLength = 0
        cleaner.first = [nil, nil]
        if let converter {
            let converted = converter.convert(rest) + (isLast ? converter.finish() : [])
            converted.withUnsafeBufferPointer { cleaner.clean($0, into: &text) }
        } else {
            cleaner.clean(rest.bindMemory(to: UInt8.self), into: &text)
        }
        if isLast { cleaner.finish(into: &text) }
        return cleaner.first
    }
}

/// Text of any encoding, such as a transcript.
package enum TextDecoder {
    /// Returns the text of a complete document as valid UTF-8.
    ///
    /// - Parameter contentType: The value of the response's Content-Type field, for its `charset`.
    package static func text(of bytes: [UInt8], contentType: String? = nil) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            var decoder = DocumentDecoder(beginning: bytes, contentType: contentType)
            var text = ByteBuffer(capacity: bytes.count + 32)
            _ = decoder.decode(bytes, isLast: true, into: &text)
            return Array(text.contents)
        }
    }
}
