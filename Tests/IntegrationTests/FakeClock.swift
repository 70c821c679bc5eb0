import Foundation
import Glibc
import TestSupport
import Testing

/// A fake wall clock for processes that are started with `environment`. Their monotonic clock stays real.
///
/// The clock is a small preloaded library, built by the C compiler of the Swift toolchain. libfaketime is unsuitable,
/// because it changes the environment before Swift uses the environment to locate the program's arguments.
final class FakeClock: Sendable {
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
        try await ChildProcess.run("clang", ["-shared", "-fPIC", "-o", folder.file("clock.so"), source]).succeeded()
    }

    /// Sets the clock to the real time plus `days`.
    func move(byDays days: Int64) throws { try move(bySeconds: days * 86_400) }

    func move(bySeconds seconds: Int64) throws {
        let bytes = withUnsafeBytes(of: seconds) { Array($0) }
        let file = open(folder.file("clock"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemCallError("open") }
        defer { close(file) }
        guard write(file, bytes, bytes.count) == bytes.count else { throw SystemCallError("write") }
    }

    var environment: [String: String] {
        ["LD_PRELOAD": folder.file("clock.so"), "PODFS_TEST_CLOCK": folder.file("clock")]
    }
}
