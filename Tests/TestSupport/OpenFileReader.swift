import Foundation
import Glibc
import Synchronization

/// A program that opens a file once and reads from that descriptor on request.
///
/// Use it for files in a mount: a test process that opens them itself could block in a hanging mount. The program is a
/// few lines of Perl, which every Debian system has.
package final class OpenFileReader: Sendable {
    package struct Reading: Sendable {
        package let bytes: [UInt8]
        /// An errno, or 0.
        package let error: Int32
    }

    /// The errno of the open, or 0.
    package let openError: Int32
    private let child: ChildProcess
    private let folder: TemporaryDirectory
    private let count = Atomic<Int>(0)

    private static let program = """
        use Fcntl; $| = 1;
        open(my $orders, '+<', $ARGV[1]) or die;
        sysopen(my $file, $ARGV[0], O_RDONLY) or do { print "open ", $! + 0, "\\n"; exit 1 };
        print "open 0\\n";
        while (my $order = <$orders>) {
            my ($number, $offset, $count) = split ' ', $order;
            my ($data, $error) = ('', 0);
            sysseek($file, $offset, 0);
            while (length($data) < $count) {
                my $got = sysread($file, my $part, $count - length($data));
                if (!defined $got) { $error = $! + 0; last }
                last if !$got;
                $data .= $part;
            }
            open(my $out, '>', "$ARGV[1].$number") or die;
            print $out $data;
            close $out;
            print "read-$number $error\\n";
        }
        """

    /// Starts the program, and waits until its open of the file has succeeded or failed.
    package init(_ path: String, deadline: Duration = .seconds(120)) async throws {
        folder = try TemporaryDirectory()
        guard mkfifo(folder.file("orders"), 0o600) == 0 else { throw SystemCallError("mkfifo") }
        child = try ChildProcess("perl", ["-e", Self.program, "--", path, folder.file("orders")])
        openError = try await Self.answer("open", of: child, deadline)
    }

    /// Reads `range` of the file from the open descriptor; the result includes the bytes before an error.
    package func read(_ range: Range<Int>, deadline: Duration = .seconds(120)) async throws -> Reading {
        let number = count.add(1, ordering: .sequentiallyConsistent).newValue
        let orders = open(folder.file("orders"), O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard orders >= 0 else { throw SystemCallError("open") }
        defer { close(orders) }
        let line = Array("\(number) \(range.lowerBound) \(range.count)\n".utf8)
        guard write(orders, line, line.count) == line.count else { throw SystemCallError("write") }
        let error = try await Self.answer("read-\(number)", of: child, deadline)
        let data = FileManager.default.contents(atPath: folder.file("orders.\(number)")) ?? Data()
        return Reading(bytes: [UInt8](data), error: error)
    }

    /// Kills the program, which closes the file.
    package func end() async throws {
        child.kill()
        try await child.wait()
    }

    package var processIdentifier: Int32 { child.processIdentifier }

    private static func answer(_ word: String, of child: ChildProcess, _ deadline: Duration) async throws -> Int32 {
        var found: Int32?
        try await waitUntil(deadline: deadline, description: "the reader answers (\(word))") {
            let hasEnded = !child.isRunning
            for line in child.output.split(separator: "\n") where line.hasPrefix(word + " ") {
                found = Int32(line.dropFirst(word.count + 1))
            }
            if found == nil, hasEnded { throw DeadlineError("the reader answers; it has ended: \(child.error)") }
            return found != nil
        }
        return found ?? EIO
    }
}
