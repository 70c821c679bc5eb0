import Foundation
import Glibc
import TestSupport
import Testing

/// Listings of a show's folder while its names change. The kernel caches the names: a listing from its cache must equal
/// one that the filesystem could have returned.
@Suite(.timeLimit(.minutes(10)), .enabled(if: InstalledProgram.exists("python3"), "python3 is not installed"))
struct FolderStreamTests {
    /// A Python program that reads directory streams with getdents64(2), a part at a time, and changes names with
    /// `podfs rename`.
    ///
    /// `names` is the current set of names, and `past` has all sets so far.
    private static let program = #"""
        import ctypes, os, random, struct, subprocess, sys, time
        podfs, folder, show, scenario = sys.argv[1:5]
        libc = ctypes.CDLL(None, use_errno=True)

        class Stream:
            def __init__(self):
                self.descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
                self.names, self.earliest, self.is_whole = [], len(past) - 1, False
            def read(self, size=1024):
                """Returns the next names, or none at the end."""
                buffer = ctypes.create_string_buffer(size)
                count = libc.getdents64(self.descriptor, buffer, size)
                if count < 0: raise OSError(ctypes.get_errno(), "getdents64")
                found, start = [], 0
                while start < count:
                    length = struct.unpack_from("=H", buffer, start + 16)[0]
                    found.append(buffer.raw[start + 19:start + length].split(b"\0", 1)[0].decode())
                    start += length
                self.names += found
                if not count: self.is_whole = True
                return found
            def rest(self, size=32768):
                while self.read(size): pass
                assert len(self.names) == len(set(self.names)), "a name twice"
                return set(self.names)
            def rewind(self):
                os.lseek(self.descriptor, 0, os.SEEK_SET)
                self.names, self.is_whole = [], False
            def close(self): os.close(self.descriptor)

        def listed():
            stream = Stream()
            try: return stream.rest()
            finally: stream.close()

        def rename():
            global names
            old = random.choice(sorted(name for name in names if name.endswith(".mp3")))
            new = f"Renamed {len(past)}"
            subprocess.run([podfs, "rename", f"{show}/{old}", new], check=True, stdout=subprocess.DEVNULL)
            names = names - {old} | {new + ".mp3"}
            past.append(names)

        def check(found, expected, what):
            assert found == expected, f"{what}: {sorted(found ^ expected)}"

        def fresh(what, times=3):
            for number in range(times): check(listed(), names, f"{what}, listing {number + 1}")

        def rewound(stream, what):
            """Rewinds and reads until the mount has been notified of the last change."""
            end = time.monotonic() + 60
            while True:
                stream.rewind()
                found = stream.rest()
                if found == names: return
                assert found in past, f"{what}: names of no moment"
                assert time.monotonic() < end, f"{what}: {sorted(found ^ names)}"

        past = []
        names = set(os.listdir(folder)) | {".", ".."}
        past.append(names)

        def rewinding():
            stream = Stream()
            check(stream.rest(), names, "at first")
            for _ in range(5):
                rename()
                fresh("while another is open")
                rewound(stream, "rewound")
                # Rename after a part of the names has been read.
                stream.rewind(); stream.read()
                rename()
                rewound(stream, "rewound after a part")
            stream.close()
            fresh("after")

        def at_random():
            streams = []
            for _ in range(1500):
                choice = random.random()
                if choice < 0.02: rename()
                elif choice < 0.12: fresh("at random", 1)
                elif choice < 0.25 and len(streams) < 5: streams.append(Stream())
                elif streams:
                    stream = random.choice(streams)
                    if choice < 0.35:
                        stream.close(); streams.remove(stream)
                    elif choice < 0.4: stream.rewind()
                    else:
                        for _ in range(random.randint(1, 12)):
                            if not stream.is_whole: stream.read(random.choice([300, 1024, 4096, 32768]))
                    if stream.is_whole:
                        assert set(stream.names) in past[stream.earliest:], "names of no moment since the opening"
            for stream in streams: stream.close()
            fresh("in the end")

        random.seed(int(sys.argv[5]))
        globals()[scenario]()
        print("done", len(past))
        """#

    @Test(arguments: [("rewinding", 1), ("at_random", 1), ("at_random", 2)])
    func aListingHasTheNamesOfOneMoment(scenario: String, seed: Int) async throws {
        let show = try await MountedShow(episodes: 28)
        let result = try await ChildProcess.run(
            "python3",
            [
                "-c", Self.program, PodfsHome.executable, "\(show.mount.mountPoint)/\(MountedShow.show)",
                MountedShow.show, scenario, "\(seed)",
            ], environment: show.home.environment, deadline: .seconds(240))
        #expect(result.exitCode == 0 && result.output.hasPrefix("done"), "\(result.output)\(result.error)")
    }

    // MARK: Requests to the filesystem

    /// Returns the number of read system calls of the mount's process so far. Each request needs at least one.
    private static func requests(_ show: MountedShow) async throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(try await show.mountProcess())/io", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("syscr: ") }
        return try #require(line.flatMap { Int($0.dropFirst(7)) })
    }

    /// Lists the folder with attributes, and returns the number of read system calls that the mount's process makes
    /// during the listing.
    private static func cost(_ show: MountedShow) async throws -> Int {
        let before = try await requests(show)
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        let listed = try await ChildProcess.run("ls", ["-l", folder]).succeeded()
        #expect(listed.output.split(separator: "\n").count > 600)
        return try await requests(show) - before
    }

    @Test func aSecondListingIsAnsweredByTheKernel() async throws {
        let show = try await MountedShow(episodes: 600)
        // A low cost also means that the mount has processed the events that the daemon sent for the new subscription.
        let few = try await Self.costOfCachedListing(show)
        #expect(try await show.home.run("rename", MountedShow.show + "/2026-01-02 Episode 2.mp3", "B").exitCode == 0)
        #expect(try await Self.cost(show) > few)
        _ = try await Self.costOfCachedListing(show)
    }

    /// Lists the folder repeatedly, until a listing costs the mount fewer than ten read system calls because the kernel
    /// answers from its caches. Returns the cost of that listing.
    private static func costOfCachedListing(_ show: MountedShow) async throws -> Int {
        var cost = Int.max
        try await waitUntil(description: "a listing is answered by the kernel") {
            cost = try await Self.cost(show)
            return cost < 10
        }
        return cost
    }
}
