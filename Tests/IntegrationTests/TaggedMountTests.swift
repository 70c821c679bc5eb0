import Foundation
import TestSupport
import Testing

/// The folder `Tagged` of a mount, read by other programs. It contains the episodes with new ID3 tags.
@Suite(.timeLimit(.minutes(5))) struct TaggedMountTests {
    private static let audio = TestContent(seed: 3, size: 700_000)

    private static func tagged(_ show: MountedShow, _ number: Int) -> String {
        show.path(number).replacing("\(show.mount.mountPoint)/", with: "\(show.mount.mountPoint)/Tagged/")
    }

    /// Returns the size according to stat(1).
    private func size(_ path: String) async throws -> Int {
        let result = try await ChildProcess.run("stat", ["-c", "%s", path])
        return try #require(Int(result.output.trimmingCharacters(in: .newlines)), "\(result.error)")
    }

    /// The original has a tag of 20 MB.
    @Test func anUncachedEpisodeIsCopiedWithANewTag() async throws {
        let show = try await MountedShow(episodes: 4, length: 20_900_000, configuration: "tagged = true\n")
        func header(_ size: Int) -> [UInt8] {
            Array("ID3".utf8) + [3, 0, 0] + [21, 14, 7, 0].map { UInt8(size >> $0 & 0x7F) }
        }
        let original: [UInt8] =
            header(20_000_000) + Array(repeating: 1, count: 20_000_000) + Self.audio.bytes.dropFirst(10)
        show.server.serve("/1.mp3", Resource(bytes: original, etag: "\"1\""))
        let text = Array("This is a page of text, and no recording.\n".utf8)
        show.server.serve(
            "/2.mp3",
            Resource(bytes: Array(repeatElement(text, count: 500).joined()), contentType: "audio/mpeg", etag: "\"2\""))
        let listed = try await ChildProcess.run("ls", ["-l", "\(show.mount.mountPoint)/Tagged/\(MountedShow.show)"])
        #expect(listed.exitCode == 0 && listed.output.contains("Episode 4.mp3"))
        #expect((1...4).allSatisfy { show.requests($0).isEmpty })

        let folder = try TemporaryDirectory()
        let path = Self.tagged(show, 1)
        // The script prints the size after the open, before anything is read, and the size after the copy.
        let script = "exec 3< \"$1\" && stat -L -c %s /proc/self/fd/3 && cat <&3 > \"$2\" && stat -c %s \"$1\""
        let copied = try await ChildProcess.run("sh", ["-c", script, "sh", path, folder.file("1.mp3")]).succeeded()
        let copy = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file("1.mp3"))))
        #expect(copied.output == "\(copy.count)\n\(copy.count)\n")
        #expect(copy.count < 720_000 && copy.starts(with: Array("ID3".utf8) + [4, 0, 0]))
        #expect(Array(copy.suffix(699_990)) == Array(Self.audio.bytes.dropFirst(10)))
        try await ChildProcess.run("cmp", [path, folder.file("1.mp3")]).succeeded()
        // The original is untouched.
        #expect(try await show.read(show.path(1)).standardOutput == original)

        // mmap, O_DIRECT and reads at odd offsets of another episode.
        let probe = """
            import mmap, os, sys
            f = os.open(sys.argv[1], os.O_RDONLY)
            size = os.fstat(f).st_size
            end = os.pread(f, 100, size - 50)
            m = mmap.mmap(f, 0, prot=mmap.PROT_READ)
            assert len(m) == size and len(end) == 50 and m[-50:] == end
            t = 10 + (m[6] << 21 | m[7] << 14 | m[8] << 7 | m[9])
            assert os.pread(f, 20, t - 7) == m[t - 7:t + 13]
            d = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
            assert os.fstat(d).st_size == size
            buffer = mmap.mmap(-1, 65536)
            assert os.preadv(d, [buffer], 0) == 65536 and buffer[:] == m[:65536]
            sys.stdout.buffer.write(m[t:])
            """
        let mapped = try await ChildProcess.run("/usr/bin/python3", ["-c", probe, Self.tagged(show, 3)])
        #expect(mapped.standardOutput == Array(MountedShow.content(3).bytes.dropFirst(10)), "\(mapped.error)")

        // A file that is no MP3 gets no tag: the read fails, or returns the original.
        let plain = try await show.read(Self.tagged(show, 2))
        #expect(plain.exitCode != 0 || plain.standardOutput == Array(repeatElement(text, count: 500).joined()))
    }

    @Test func aTaggedFileIsReadWhileItsEpisodeIsDownloaded() async throws {
        let show = try await MountedShow(episodes: 1, configuration: "tagged = true\n")
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .normal.throttle(bytesPerSecond: 400_000) }
        let path = Self.tagged(show, 1)
        let read = try await show.read(path)
        #expect(Array(read.standardOutput.suffix(299_990)) == Array(MountedShow.content(1).bytes.dropFirst(10)))
        #expect(read.standardOutput.count == (try await size(path)))
        // One request for the first bytes, and one for the rest.
        #expect(show.requests(1).count <= 2)
    }
}
