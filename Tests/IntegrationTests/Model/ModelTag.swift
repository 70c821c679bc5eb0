import Foundation
import TestSupport

/// The tag at the start of an open file in the folder `Tagged`, as far as the test has read it. In this folder, a tag
/// made by podfs replaces the original's own tag.
///
/// Its frames are not modeled. It must be one ID3v2.4 tag with the episode's title. Its size follows from the file's
/// size at the open, and its bytes must be the same in every read until the file is closed.
struct ModelTag: Sendable {
    /// The size in bytes of the tag at the start of every `TestContent` of at least 32 bytes. In `Tagged`, the
    /// tag made by podfs replaces it.
    static let replaced = 10
    /// The possible sizes in bytes: from a tag with a title and a show to one with art of 1 MiB and 255 chapters.
    private static let possible = 40...(1 << 21)

    /// The size in bytes.
    let size: Int
    private let content: TestContent
    private let title: String
    private var known: [UInt8?]

    /// - Parameters:
    ///   - fileSize: The size of the whole file at its open.
    ///   - content: The original, with its own tag.
    ///   - title: The title of the episode at the open.
    /// - Returns: `nil` if `fileSize` is not a possible size of a tag and the audio.
    init?(fileSize: Int, _ content: TestContent, title: String) {
        size = fileSize - Self.audioSize(of: content)
        guard Self.possible.contains(size) else { return nil }
        self.content = content
        self.title = title
        known = Array(repeating: nil, count: size)
    }

    static func audioSize(of content: TestContent) -> Int { content.size - replaced }

    /// The size of the whole file in bytes.
    var fileSize: Int { size + Self.audioSize(of: content) }

    /// Returns the first error in the bytes of a read that requested `count` bytes; `nil` if there is none.
    mutating func judge(_ found: [UInt8], at offset: Int, count: Int) -> (expected: String, found: String)? {
        let expected = max(0, min(offset + count, fileSize) - offset)
        if found.count != expected { return ("\(expected) bytes", "\(found.count) bytes") }
        let tagged = max(0, min(size - offset, found.count))
        for (index, byte) in found.prefix(tagged).enumerated() {
            if let earlier = known[offset + index], earlier != byte {
                return ("byte \(offset + index) of the tag to be \(earlier), as before", "\(byte)")
            }
            known[offset + index] = byte
        }
        if tagged > 0, let wrong = judgeTag() { return (wrong, "a tag of \(size) bytes: \(known.prefix(64))") }
        let start = offset + tagged - size + Self.replaced
        let audio = tagged < found.count ? content.bytes(in: start..<start + found.count - tagged) : []
        guard !found.dropFirst(tagged).elementsEqual(audio) else { return nil }
        let place = zip(found.dropFirst(tagged), audio).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        return ("the original from \(start) on, behind \(tagged) bytes of tag", "other bytes from \(place ?? 0) on")
    }

    private func judgeTag() -> String? {
        let header = known.prefix(10).compactMap(\.self)
        if header.count == 10 {
            if !header.starts(with: Array("ID3".utf8) + [4, 0, 0]) { return "the header of an ID3v2.4 tag" }
            let stated = header.dropFirst(6).reduce(0) { $0 << 7 | Int($1) }
            if stated + 10 != size { return "a tag that states \(size - 10) bytes, not \(stated)" }
        }
        let bytes = known.compactMap(\.self)
        guard bytes.count == size else { return nil }
        // The first byte states the encoding: 3 is UTF-8.
        let text = [3] + Array(title.utf8)
        let frame = Array("TIT2".utf8) + [0, 0, UInt8(text.count >> 7), UInt8(text.count & 0x7F), 0, 0] + text
        return Data(bytes).range(of: Data(frame)) == nil ? "a tag with the title \(title)" : nil
    }
}
