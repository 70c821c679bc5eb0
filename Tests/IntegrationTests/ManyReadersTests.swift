import Foundation
import Glibc
import TestSupport
import Testing

/// Many readers of a server that sends the heads of responses but no bodies.
@Suite(.timeLimit(.minutes(5)), .enabled(if: FuseConnection.areVisible, "fusectl is not mounted"))
struct ManyReadersTests {
    private static let size = 60_000_000

    /// Mounts a show with `stalled` episodes whose sizes are known and whose bodies do not arrive. One more episode,
    /// the last, is cached. Returns the show, and the gate that holds the bodies.
    private static func show(stalled: Int) async throws -> (MountedShow, Gate) {
        // Neither readers nor tasks time out.
        let show = try await MountedShow(
            episodes: stalled + 1, size: size, length: size,
            configuration: MountedShow.patience(stall: 3_600, reader: 3_600))
        show.server.serve("/\(stalled + 1).mp3", MountedShow.resource(stalled + 1))
        try await show.expectWhole(stalled + 1, MountedShow.content(stalled + 1))
        let gate = Gate(heldAt: 0)
        for number in 1...stalled {
            show.server.serve("/\(number).mp3", MountedShow.resource(number, size: size)) { _ in .hold(gate) }
            try await show.confirmSize(of: show.path(number))
        }
        return (show, gate)
    }

    /// A Perl program that reads 4 KiB at `$count` offsets of each file, each in a separate process. Finally it prints
    /// each errno and how many processes ended with it, one errno per line.
    private static let program = """
        use Fcntl; $| = 1;
        my ($count, $size, @files) = @ARGV;
        my %children;
        for my $file (@files) {
            for my $place (0 .. $count - 1) {
                my $child = fork();
                die "fork: $!" if !defined $child;
                if ($child) { $children{$child} = 1; next }
                sysopen(my $handle, $file, O_RDONLY) or exit($! + 0);
                sysseek($handle, int($size / $count) * $place, 0);
                my $got = sysread($handle, my $data, 4096);
                exit(defined $got ? 0 : $! + 0);
            }
        }
        my %ends;
        while ((my $child = wait()) > 0) { $ends{$? & 127 ? "signal" : $? >> 8}++ }
        print "$_ $ends{$_}\\n" for sort keys %ends;
        """

    private static func startReaders(_ show: MountedShow, files: Int, perFile: Int) throws -> ChildProcess {
        try ChildProcess(
            "perl", ["-e", program, "--", "\(perFile)", "\(size)"] + (1...files).map { show.path($0) })
    }

    @Test func aCachedFileIsReadBesideAThousandReadersOfAStalledHost() async throws {
        let (show, gate) = try await Self.show(stalled: 20)
        defer { gate.open() }
        let process = try await show.mountProcess()
        let connection = try await FuseConnection(at: show.mount.mountPoint)
        let readers = try Self.startReaders(show, files: 20, perFile: 50)
        func everybodyWaits() throws -> Bool {
            try #require(readers.isRunning, "\(readers.error)")
            return try connection.waiting >= 1_000
        }
        try await waitUntil(deadline: .seconds(120), description: "a thousand readers wait") { try everybodyWaits() }
        // O_DIRECT bypasses the page cache, so that podfs serves every byte.
        let read = try await ChildProcess.run(
            "dd", ["if=\(show.path(21))", "bs=65536", "status=none", "iflag=direct"]
        ).succeeded()
        #expect(MountedShow.content(21).equals(read.standardOutput))
        let listed = try await ChildProcess.run("ls", ["-l", "\(show.mount.mountPoint)/\(MountedShow.show)"])
            .succeeded()
        #expect(listed.output.split(separator: "\n").filter { $0.contains(".mp3") }.count == 21)
        #expect(try await show.attribute("state", of: show.path(1)) != nil)
        #expect(try everybodyWaits())
        // podfs has a record for each waiting read, not a thread.
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").count
        #expect(threads < 50, "\(threads) threads")
        try await show.home.run("unmount", show.mount.mountPoint).succeeded()
        #expect(try await readers.wait().output == "\(EIO) 1000\n")
    }
}
