internal import Platform
internal import PodcastFeed
internal import PodcastLibrary
internal import PodcastPages
internal import PodcastProtocol
internal import SystemPackage
internal import Transfers

/// The tag at the start of an open file in the folder `Tagged`. It replaces the tags of the original, the episode's own
/// file. It consists of bytes made here, followed by those of a cached picture, if there is one.
final class ReplacementTag: Sendable {
    private let bytes: [UInt8]
    private let picture: GeneratedContent?
    /// The size in bytes, with the picture.
    let size: Int64
    /// The size in bytes of the original's tags.
    let skipped: Int64

    /// - Parameter bytes: The tag's bytes before the picture; empty for a file that is served unchanged.
    init(_ bytes: [UInt8], picture: GeneratedContent?, skipped: Int64) {
        self.bytes = bytes
        self.picture = picture
        self.skipped = skipped
        size = Int64(bytes.count) + (picture?.size ?? 0)
    }

    /// Returns the part of a read that is in the tag, and the rest as a range of the original.
    func split(_ range: Range<Int64>) -> (tag: Range<Int64>, original: Range<Int64>) {
        (
            min(range.lowerBound, size)..<min(range.upperBound, size),
            original(range.lowerBound)..<original(range.upperBound)
        )
    }

    /// Returns the offset in the original. A program may choose any offset, so the sum is limited.
    private func original(_ offset: Int64) -> Int64 { min(max(0, offset - size), .max - skipped) + skipped }

    /// Fills the buffer with the tag's bytes from `offset` on. The buffer must not extend beyond `size`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) {
        var count = 0
        if offset < bytes.count {
            let part = bytes[Int(offset)..<min(bytes.count, Int(offset) + buffer.count)]
            buffer.copyBytes(from: part)
            count = part.count
        }
        guard count < buffer.count else { return }
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
        guard let picture, try picture.read(into: rest, at: offset + Int64(count - bytes.count)) == rest.count else {
            throw .ioError
        }
    }

    /// Returns a hash of all bytes.
    func fingerprint() throws(Errno) -> Int64 {
        var copy = [UInt8](repeating: 0, count: Int(size))
        var failure: Errno?
        copy.withUnsafeMutableBytes { buffer in
            do throws(Errno) { try read(into: buffer, at: 0) } catch { failure = error }
        }
        if let failure { throw failure }
        return Int64(bitPattern: FNV1a.hash64(copy))
    }
}

extension PodcastFilesystem {
    /// Makes the tag of an episode from the library, the known chapters, and a cached picture: the episode's art,
    /// otherwise the show's cover.
    ///
    /// - Parameter skipped: The size in bytes of the original's tags.
    func makeTag(of id: EpisodeID, skipped: Int64) throws -> ReplacementTag {
        guard let episode = try library.episode(id: id), let show = try library.podcast(id: episode.podcast) else {
            throw Errno.noSuchFileOrDirectory
        }
        let tag = ID3Tag(episode, of: show, chapters: try knownChapters(of: episode))
        for (kind, row) in [(AssetKind.art, id.rawValue), (.cover, show.id.rawValue)] {
            let path = options.assets.appending(kind.fileName(row))
            guard let content = GeneratedContent.file(path), (1...Self.largestPicture).contains(content.size),
                let type = Self.imageType(of: content)
            else { continue }
            let head = tag.bytes(before: ID3Tag.Picture(type: type, size: Int(content.size)))
            return ReplacementTag(head, picture: content, skipped: skipped)
        }
        return ReplacementTag(tag.bytes(before: nil), picture: nil, skipped: skipped)
    }

    /// The maximum size in bytes of the picture in a tag.
    private static let largestPicture: Int64 = 1 << 20

    /// Returns the MIME type of a picture from its first bytes; `nil` for a format that players may not know.
    private static func imageType(of content: GeneratedContent) -> String? {
        var head = [UInt8](repeating: 0, count: Int(min(content.size, 16)))
        let count = head.withUnsafeMutableBytes { (try? content.read(into: $0, at: 0)) ?? 0 }
        return ID3Tag.Picture.type(of: head.prefix(count))
    }

    /// Returns the chapters of an episode from the first local source that has any; sends no request.
    private func knownChapters(of episode: Episode) throws -> [Chapter] {
        let fetched = fetchedChapters(AssetKind.chapters.fileName(episode.id.rawValue), limit: 1_000)
        let chapters = fetched.isEmpty ? try library.extras(of: episode.id).chapters : fetched
        return chapters.playable(until: episode.duration)
    }
}
