import Foundation
import Glibc
import TestSupport
import Testing

/// Socket activation: a service manager creates the socket and passes it to the daemon.
struct ActivationTests {
    private let home: PodfsHome
    private let server = HTTPTestServer()

    /// A minimal service manager in Perl. It listens on the socket `$ARGV[0]`, passes it on as descriptor 3, and
    /// executes the daemon; see sd_listen_fds(3).
    private static let manager = """
        use Socket; use POSIX ();
        $^F = 10;
        socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or die;
        bind($socket, pack_sockaddr_un($ARGV[0])) or die "$!";
        listen($socket, 16) or die;
        POSIX::dup2(fileno($socket), 3) if fileno($socket) != 3;
        $| = 1; print "listening\\n";
        $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1;
        exec $ARGV[1], "daemon", "--foreground";
        """

    init() throws {
        home = try PodfsHome()
        try server.start()
        server.serveShow("Show", episodes: 1, length: 10)
        try FileManager.default.createDirectory(atPath: home.runtimeDirectory, withIntermediateDirectories: true)
    }

    private func activate(_ socket: String) throws -> ChildProcess {
        try ChildProcess(
            "perl", ["-e", Self.manager, socket, PodfsHome.executable], environment: home.environment)
    }

    @Test func aDaemonServesAnInheritedSocketAndDoesNotRemoveIt() async throws {
        let daemon = try activate(home.socket)
        try await daemon.waitForOutput("listening")
        try await home.run("subscribe", server.url("/feed.xml")).printed("Show: 1 episode\n")
        #expect(home.daemonProcessIdentifier == daemon.processIdentifier)
        daemon.kill(SIGTERM)
        #expect(try await daemon.wait().exitCode == 0)
        // The daemon does not remove the socket: the manager owns it, and would start a daemon for the next client.
        #expect(FileManager.default.fileExists(atPath: home.socket))
    }

    @Test func anInheritedSocketAtAnotherPathIsRefused() async throws {
        let other = home.directory.file("other.sock")
        let daemon = try activate(other)
        let result = try await daemon.wait().failed()
        #expect(result.error.contains(home.socket), "\(result.error)")
        #expect(result.error.contains("ListenStream="))
    }
}
