import Foundation
import Glibc
import TestSupport
import Testing

/// The wall clock of processes that are started with its environment; their monotonic clock stays true.
///
/// A library of a few lines that the C compiler of the Swift toolchain makes is put before the C library's own calls.
/// libfaketime would do, but it changes the environment before Swift has found its arguments there.
private final class FakeClock: Sendable {
    private let folder: TemporaryDirectory

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static volatile int64_t *offset;
        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("PODFS_TEST_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *place = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
            if (place != MAP_FAILED) offset = place;
            close(file);
        }
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
                now->tv_sec += *offset;
            return result;
        }
        time_t time(time_t *place) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (place) *place = now.tv_sec;
            return now.tv_sec;
        }
        int gettimeofday(struct timeval *restrict place, void *restrict zone) {
            struct timespec now;
            int result = clock_gettime(CLOCK_REALTIME, &now);
            place->tv_sec = now.tv_sec;
            place->tv_usec = now.tv_nsec / 1000;
            return result;
        }

        """

    init() async throws {
        folder = try TemporaryDirectory()
        try move(byDays: 0)
        let source = try folder.write("clock.c", text: Self.source)
        let built = try await ChildProcess.run(
            "clang", ["-shared", "-fPIC", "-o", folder.file("clock.so"), source])
        try #require(built.exitCode == 0, "\(built.error)")
    }

    /// Sets it to so many days from the true time.
    func move(byDays days: Int64) throws {
        let bytes = withUnsafeBytes(of: days * 86_400) { Array($0) }
        let file = open(folder.file("clock"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemCallError("open") }
        defer { close(file) }
        guard write(file, bytes, bytes.count) == bytes.count else { throw SystemCallError("write") }
    }

    var environment: [String: String] {
        ["LD_PRELOAD": folder.file("clock.so"), "PODFS_TEST_CLOCK": folder.file("clock")]
    }
}

/// A clock that jumps: by a person's hand, by a time server, or because the machine slept.
@Suite(.timeLimit(.minutes(5))) struct ClockTests {
    @Test func aClockThatJumpsEndsNoWait() async throws {
        let clock = try await FakeClock()
        let size = 2_000_000
        let show = try await MountedShow(
            episodes: 2, size: size, length: size,
            configuration: MountedShow.patience(stall: 30, reader: 40) + "[daemon]\nidle_exit = \"30 s\"\n",
            environment: clock.environment)
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", MountedShow.resource(1, size: size), [.hold(gate)])
        let reader = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        let daemon = try #require(show.home.daemonProcessIdentifier)
        for days in [400, -400, 1] {
            try clock.move(byDays: Int64(days))
            let told = try await ChildProcess.run("stat", ["-c", "%Y", "\(show.mount.mountPoint)/.status"]).output
            let moment = try #require(Double(told.trimmingCharacters(in: .whitespacesAndNewlines)))
            // The mount's own time: the status is of this moment.
            #expect(abs(moment - Date().timeIntervalSince1970 - Double(days) * 86_400) < 3_600)
            // Both processes have work to do at the new time: another episode is asked for and read.
            let part = try await show.read(show.path(2), 0..<65_536)
            #expect(MountedShow.content(2, size: size).matches(part.standardOutput), "\(part.error)")
            #expect(part.standardOutput.count == 65_536)
            #expect(reader.isRunning)
        }
        gate.open()
        let result = try await reader.wait()
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(result.standardOutput.count == size)
        #expect(MountedShow.content(1, size: size).matches(result.standardOutput))
        #expect(show.requests(1).count == 1)
        #expect(show.home.daemonProcessIdentifier == daemon)
        try await show.expectWhole(2, MountedShow.content(2, size: size))
    }

    @Test func aDeadlineIsKeptAlthoughTheClockIsSetBack() async throws {
        let clock = try await FakeClock()
        let show = try await MountedShow(
            episodes: 1, configuration: MountedShow.patience(stall: 2, reader: 3),
            environment: clock.environment)
        try await show.confirmSize(of: show.path(1))
        let gate = Gate(heldAt: 0)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .holdHead(gate) }
        let reader = try ChildProcess("cat", [show.path(1)])
        try await gate.waitUntilReached()
        try clock.move(byDays: -30)
        let result = try await reader.wait()
        #expect(result.says(ETIMEDOUT), "\(result.error)")
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        try await show.expectWhole(1, MountedShow.content(1))
    }
}
