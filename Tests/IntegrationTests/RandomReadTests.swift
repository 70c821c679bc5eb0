import Foundation
import TestSupport
import Testing

/// Reads by different system calls at random offsets, compared with the original.
@Suite(.timeLimit(.minutes(10))) struct RandomReadTests {
    /// A Python program that compares the file `argv[1]` with the file `argv[2]`. Each of three threads performs
    /// `argv[4]` operations, with a seed of its own that is derived from `argv[3]`. A thread stops at the first
    /// difference or error. The program then prints a line for each such thread, and exits with 1.
    private static let reader = #"""
        import mmap, os, random, sys, threading
        path, original, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        want = open(original, "rb").read()
        size = len(want)
        def check(what, offset, got, length):
            if got != want[offset:offset + length]:
                raise ValueError(f"{what} of {length} at {offset} gives {len(got)} other bytes")
        def mapped(file, random, offset, length):
            start, end = offset & -mmap.ALLOCATIONGRANULARITY, min(size, offset + length)
            kind = random.choice([mmap.MAP_SHARED, mmap.MAP_PRIVATE])
            with mmap.mmap(file, end - start, kind, mmap.PROT_READ, offset=start) as m:
                check("mmap", offset, m[offset - start:], length)
        def scattered(file, offset, length):
            parts = [bytearray(length // 3 + 1), bytearray(1), bytearray(length // 2)]
            got = os.preadv(file, parts, offset)
            check("preadv", offset, b"".join(parts)[:got], sum(map(len, parts)))
        def direct(file, memory, offset, length):
            offset, length = offset & -4096, (length + 4095) & -4096
            with memoryview(memory)[:length] as view:
                got = os.preadv(file, [view], offset)
                check("O_DIRECT", offset, bytes(view[:got]), length)
        def run(number):
            r = random.Random(number)
            file, bare = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY | os.O_DIRECT)
            memory = mmap.mmap(-1, 1 << 18)
            for _ in range(count):
                offset, length = r.randrange(size + 4096), r.choice([1, 511, 4096, 4097, 70_000, 200_000])
                way = r.randrange(8)
                if way < 2: check("pread", offset, os.pread(file, length, offset), length)
                elif way == 2: scattered(file, offset, length)
                elif way == 3 and offset < size: mapped(file, r, offset, length)
                elif way == 4: direct(bare, memory, offset, length)
                elif way == 5:
                    os.lseek(file, offset, os.SEEK_SET)
                    check("read", offset, os.read(file, length), length)
                elif way == 6:
                    advice = r.choice(["DONTNEED", "WILLNEED", "RANDOM", "SEQUENTIAL", "NORMAL"])
                    os.posix_fadvise(file, offset, length, getattr(os, "POSIX_FADV_" + advice))
                elif way == 7:
                    os.close(file)
                    file = os.open(path, os.O_RDONLY)
        wrong = []
        def guarded(number):
            try: run(number)
            except Exception as error: wrong.append(f"seed {number}: {error!r}")
        threads = [threading.Thread(target=guarded, args=(seed * 100 + n,)) for n in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        if wrong: sys.exit("\n".join(wrong))
        """#

    private static func start(_ path: String, _ original: String, seed: Int, count: Int) throws -> ChildProcess {
        try ChildProcess("python3", ["-c", reader, path, original, "\(seed)", "\(count)"])
    }

    @Test(
        .enabled(if: InstalledProgram.exists("python3"), "python3 is not installed"), arguments: [1, 2])
    func everyWayToReadGivesTheSameBytes(_ seed: Int) async throws {
        let size = 6_000_001
        let content = MountedShow.content(1, size: size)
        let show = try await MountedShow(episodes: 1, size: size, length: seed == 1 ? size : nil)
        let original = try show.home.directory.write("original", content.bytes)
        // The first round reads during the transfer, over connections that break; the second reads from the cache.
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size)) { request in
            request.index < 3 ? .throttle(bytesPerSecond: 3_000_000).reset(after: 1_500_000) : .normal
        }
        for round in 0..<2 {
            let readers = try (1...2).map {
                try Self.start(show.path(1), original, seed: seed * 10 + round * 5 + $0, count: 300)
            }
            for reader in readers {
                let result = try await reader.wait(deadline: .seconds(240))
                #expect(result.exitCode == 0, "\(result.error)")
            }
            try await show.waitForState("cached", of: show.path(1))
        }
        #expect(try await ChildProcess.run("cmp", [show.path(1), original]).exitCode == 0)
    }

    @Test(.enabled(if: InstalledProgram.exists("python3"), "python3 is not installed"))
    func theReaderFindsAByteThatDiffers() async throws {
        let folder = try TemporaryDirectory()
        var bytes = TestContent(seed: 1, size: 300_000).bytes
        let original = try folder.write("original", bytes)
        bytes[123_456] ^= 1
        let result = try await Self.start(try folder.write("other", bytes), original, seed: 1, count: 100).wait()
        #expect(result.exitCode == 1 && result.error.contains("seed 10"), "\(result.error)")
    }

    /// A Python program that copies `argv[1]` to standard output in pieces of `argv[2]` bytes, without asking for its
    /// size.
    private static let unaware = #"""
        import os, sys
        file = os.open(sys.argv[1], os.O_RDONLY)
        while part := os.read(file, int(sys.argv[2])): os.write(1, part)
        """#

    @Test(
        .enabled(if: InstalledProgram.exists("python3"), "python3 is not installed"), arguments: [500_000, 1_000, nil])
    func aReaderThatDoesNotAskForTheSizeGetsTheWholeFile(_ length: Int?) async throws {
        // Before the open, the kernel has the size from the feed: too large, too small, or none. With too large a size,
        // the kernel would read ahead beyond the true end.
        let show = try await MountedShow(episodes: 4, length: length)
        let pieces = [131_072, 65_537, 1_000_000, 4_096]
        for (index, piece) in pieces.enumerated() {
            let number = index + 1
            show.server.serve("/\(number).mp3", MountedShow.resource(number)) { _ in
                .throttle(bytesPerSecond: 400_000)
            }
            let result = try await ChildProcess.run("python3", ["-c", Self.unaware, show.path(number), "\(piece)"])
            #expect(result.exitCode == 0, "\(result.error)")
            #expect(result.standardOutput.count == 300_000, "\(piece)")
            #expect(MountedShow.content(number).matches(result.standardOutput), "\(piece)")
        }
    }
}
