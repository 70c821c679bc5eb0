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
        var input = held
        input.append(contentsOf: piece)
        held = []
        var output: [UInt8] = []
        // A byte rarely becomes more than three bytes of UTF-8; if it does, the loop converts the rest.
        var space = [UInt8](repeating: 0, count: max(64, input.count * 3))
        var start = 0
        while start < input.count {
            let (read, written, failure) = step(&input, from: start, into: &space)
            output.append(contentsOf: space[..<written])
            start += read
            switch failure {
            case EILSEQ:
                output.append(contentsOf: "\u{FFFD}".utf8)
                start = min(start + unit, input.count)
            case EINVAL:
                held = Array(input[start...])
                return output
            default:
                break
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

    private func step(
        _ input: inout [UInt8], from start: Int, into space: inout [UInt8]
    ) -> (read: Int, written: Int, failure: Int32) {
        input.withUnsafeMutableBytes { inputBytes in
            space.withUnsafeMutableBytes { spaceBytes in
                var source = (inputBytes.baseAddress?.assumingMemoryBound(to: CChar.self)).map { $0 + start }
                var target = spaceBytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                var left = inputBytes.count - start
                var room = spaceBytes.count
                let result = iconv(descriptor, &source, &left, &target, &room)
                let failure = result == -1 ? errno : 0
                return (inputBytes.count - start - left, spaceBytes.count - room, failure)
            }
        }
    }
}
