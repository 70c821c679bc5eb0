internal import Glibc

/// A converter from another encoding to UTF-8, piece by piece.
///
/// Wraps `iconv`. Not thread-safe.
final class CharsetConverter {
    private let descriptor: iconv_t
    /// The incomplete character at the end of the previous piece.
    private var held: [UInt8] = []
    /// The size in bytes of the encoding's code unit. This many bytes are skipped at an invalid sequence.
    private let unit: Int

    /// Opens a converter; `nil` if this system has none for the encoding.
    ///
    /// The corresponding C function is `iconv_open`.
    ///
    /// - Parameter name: A name from ``DocumentEncoding``.
    init?(from name: String) {
        guard let descriptor = iconv_open("UTF-8", name), Int(bitPattern: descriptor) != -1 else { return nil }
        self.descriptor = descriptor
        unit = name.hasPrefix("UTF-16") ? 2 : name.hasPrefix("UTF-32") ? 4 : 1
    }

    deinit { iconv_close(descriptor) }

    /// Converts a piece to UTF-8. Invalid bytes become U+FFFD; an incomplete character waits for the next piece.
    ///
    /// The corresponding C function is `iconv`.
    func convert(_ piece: UnsafeRawBufferPointer) -> [UInt8] {
        var input = held + piece
        held = []
        var output: [UInt8] = []
        var start = 0
        while start < input.count {
            var failure: Int32 = 0
            // A byte rarely becomes more than three bytes of UTF-8; if it does, the loop converts the rest.
            output += [UInt8](unsafeUninitializedCapacity: max(64, 3 * (input.count - start))) { space, written in
                input.withUnsafeMutableBytes { bytes in
                    var source = bytes.baseAddress.map { ($0 + start).assumingMemoryBound(to: CChar.self) }
                    var target = UnsafeMutableRawPointer(space.baseAddress)?.assumingMemoryBound(to: CChar.self)
                    var (left, room) = (bytes.count - start, space.count)
                    if iconv(descriptor, &source, &left, &target, &room) == -1 { failure = errno }
                    (start, written) = (bytes.count - left, space.count - room)
                }
            }
            switch failure {
            case EILSEQ:
                output.append(contentsOf: "\u{FFFD}".utf8)
                start = min(start + unit, input.count)
            case EINVAL:
                held = Array(input[start...])
                return output
            default: break
            }
        }
        return output
    }

    /// Returns the rest of the document's text: the characters that `iconv` has buffered, and U+FFFD for an incomplete
    /// character.
    func finish() -> [UInt8] {
        var output = [UInt8](repeating: 0, count: 64)
        var room = output.count
        output.withUnsafeMutableBytes { bytes in
            var target = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            _ = iconv(descriptor, nil, nil, &target, &room)
        }
        output.removeLast(room)
        if !held.isEmpty { output.append(contentsOf: "\u{FFFD}".utf8) }
        held = []
        return output
    }
}
