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
                try await reader.wait(deadline: .seconds(240)).succeeded()
            }
            try await show.waitForState("cached", of: show.path(1))
        }
        #expect(try await ChildProcess.run("cmp", [show.path(1), original]).exitCode == 0)
    }
}
