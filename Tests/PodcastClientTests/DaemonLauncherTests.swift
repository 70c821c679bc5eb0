import Foundation
import Platform
import PodcastProtocol
import Synchronization
import TestSupport
import Testing

struct DaemonLauncherTests {
    private let directory: TemporaryDirectory
    private let paths: InstallationPaths

    init() throws {
        directory = try TemporaryDirectory()
        paths = try #require(
            InstallationPaths(environment: [
                "HOME": directory.path, "XDG_DATA_HOME": directory.file("d"), "XDG_CACHE_HOME": directory.file("c"),
                "XDG_CONFIG_HOME": directory.file("g"), "XDG_STATE_HOME": directory.file("s"),
                "XDG_RUNTIME_DIR": directory.file("r"),
            ]))
    }

    private func launcher(schema: Int = 1, script: String = "exit 0") throws -> DaemonLauncher {
        let program = try directory.writeProgram("podfs", text: "#!/bin/sh\n\(script)\n")
        return DaemonLauncher(paths: paths, schema: schema, executable: program)
    }

    private func welcome(
        protocolVersion version: Int = protocolVersion, schema: Int = 1, library: String? = nil, cache: String? = nil,
        pid: Int32 = 1
    ) -> Welcome {
        Welcome(
            protocolVersion: version, schema: schema, library: library ?? paths.library, cache: cache ?? paths.cache,
            version: "9.9", pid: pid)
    }

    private func server(_ handler: @escaping FrameServer.Handler = { _, _ in }) throws -> FrameServer {
        try FileManager.default.createDirectory(atPath: paths.runtime, withIntermediateDirectories: true)
        return try FrameServer(path: paths.socket, handler: handler)
    }

    private func daemon(_ welcome: Welcome) throws -> FrameServer {
        try server { peer, frame in
            switch frame.kind {
            case .hello: peer.answer(frame, welcome)
            case .command: peer.answer(frame, .done)
            default: break
            }
        }
    }

    // MARK: Connecting

    @Test func withoutADaemonNoConnectionIsReturnedAndNothingStopped() throws {
        #expect(try launcher().connect(role: .command) == nil)
        try launcher().stopDaemon()
        // Nor if the daemon closes the connection at once.
        let server = try server { peer, _ in peer.end() }
        #expect(try launcher().connect(role: .command) == nil)
        #expect(server.frames.count == 1)
    }

    /// A stopped process still accepts connections. To report "no daemon" would be wrong: `status` would print "no
    /// active tasks".
    @Test func aDaemonThatDoesNotAnswerIsAnError() throws {
        let server = try server()
        var launcher = try launcher()
        launcher.patience = 0.1
        let error = #expect(throws: ClientError.self) { try launcher.connect(role: .command) }
        #expect(error?.code == .unreachable && error?.message.contains("does not answer") == true)
        #expect(server.frames.map(\.kind) == [.hello])
    }

    @Test func theHelloDescribesTheClient() async throws {
        let server = try daemon(welcome(schema: 4))
        let connection = try #require(try launcher(schema: 4).connect(role: .mount))
        #expect(WireJSON.decode(Hello.self, try #require(server.frames.first).payload) == .mount)
        #expect(try await connection.perform(.watch) == .done)
        connection.close()
    }

    @Test func aDaemonOfAnotherInstallationIsAnError() throws {
        for (welcome, other) in [
            (welcome(library: "/elsewhere/l.sqlite", pid: 77), "the library /elsewhere/l.sqlite"),
            (welcome(cache: "/elsewhere", pid: 77), "the cache /elsewhere"),
        ] {
            let server = try daemon(welcome)
            let error = try #require(throws: ClientError.self) { try launcher().connect(role: .command) }
            #expect(error.code == .incompatible)
            #expect(error.message.contains("77") && error.message.contains(other), "\(error)")
            // The daemon is not asked to exit.
            #expect(server.frames.map(\.kind) == [.hello])
            server.stop()
        }
    }

    @Test func aNewerDaemonIsNotReplaced() throws {
        for welcome in [welcome(protocolVersion: protocolVersion + 1), welcome(schema: 2)] {
            let server = try daemon(welcome)
            let error = try #require(throws: ClientError.self) { try launcher().connectOrStart(role: .mount) }
            #expect(error.code == .incompatible)
            #expect(error.message.contains("9.9"))
            #expect(server.frames.map(\.kind) == [.hello])
            server.stop()
        }
    }

    @Test func anOlderDaemonIsStoppedAndReplaced() async throws {
        let process = try ChildProcess("/bin/sleep", ["1000"])
        let answer = welcome(protocolVersion: protocolVersion - 1, pid: process.processIdentifier)
        let server = try server { peer, frame in
            if frame.kind == .hello {
                peer.answer(frame, answer)
                return
            }
            peer.answer(frame, .done)
            process.kill(SIGTERM)
        }
        #expect(try launcher().connect(role: .command) == nil)
        #expect(!FileManager.default.fileExists(atPath: "/proc/\(process.processIdentifier)/exe"))
        #expect(server.frames.map(\.kind) == [.hello, .command])
        #expect(WireJSON.decode(Command.self, server.frames[1].payload) == .leave)
        try await process.wait()
    }

    @Test func stoppingTheDaemonWaitsForTheEndOfItsProcess() async throws {
        let process = try ChildProcess("/bin/sleep", ["1000"])
        let pid = process.processIdentifier
        let server = try daemon(welcome(pid: pid))
        let launcher = try launcher()
        // Whether the process had ended when the function returned.
        let hasEnded = Mutex<Bool?>(nil)
        Thread.detachNewThread {
            try? launcher.stopDaemon()
            let ended = !FileManager.default.fileExists(atPath: "/proc/\(pid)/exe")
            hasEnded.withLock { $0 = ended }
        }
        // The server replies to the command at once, and the process exits later.
        let commands = try await server.wait(for: .command)
        #expect(commands.map { WireJSON.decode(Command.self, $0.payload) } == [.leave])
        process.kill(SIGTERM)
        try await waitUntil(description: "the function returns") { hasEnded.withLock { $0 } != nil }
        #expect(hasEnded.withLock { $0 } == true)
        try await process.wait()
    }

    @Test func onlyTheReturnedConnectionReportsItsEnd() async throws {
        let process = try ChildProcess("/bin/sleep", ["1000"])
        let older = welcome(protocolVersion: protocolVersion - 1, pid: process.processIdentifier)
        let current = welcome()
        // The client connects three times. The server closes the connection of peer 0 without a response. It answers
        // peer 1 as an older daemon, and peer 2 as a current one.
        let server = try server { peer, frame in
            switch (peer.number, frame.kind) {
            case (1..., .hello):
                let answer = peer.number == 1 ? older : current
                peer.answer(frame, answer)
            case (1, _):
                peer.end()
                process.kill(SIGTERM)
            default: peer.end()
            }
        }
        let ends = Journal<Int>()
        let connection = try launcher().connectOrStart(role: .command, onClose: { ends.append(server.peers.count) })
        #expect(server.peers.count == 3)
        #expect(!connection.isClosed && ends.entries.isEmpty)
        connection.close()
        try await waitUntil { ends.entries == [3] }
        try await process.wait()
    }

    @Test func anEndBeforeTheReturnIsReported() async throws {
        let answer = welcome()
        let server = try server { peer, frame in
            peer.answer(frame, answer)
            peer.end()
        }
        let ends = Journal<String>()
        let connection = try launcher().connect(role: .command, onClose: { ends.append("end") })
        #expect(connection != nil && server.frames.count == 1)
        try await waitUntil { ends.entries == ["end"] }
    }

    // MARK: Starting

    @Test func startingCreatesPrivateFolders() throws {
        let error = try #require(throws: ClientError.self) { try launcher().connectOrStart(role: .command) }
        #expect(error.code == .unreachable)
        #expect(error.message.contains("does not answer") && error.message.contains(paths.log))
        for folder in paths.folders {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder)
            #expect(attributes[.posixPermissions] as? Int == 0o700, "\(folder)")
        }
    }

    @Test func theReasonIsTheProgramsLastOutputOrItsExitCode() throws {
        for (script, words) in [
            ("echo 'podfs: the disk is full' >&2; exit 3", ["podfs: the disk is full"]), ("exit 3", ["3", paths.log]),
        ] {
            let launcher = try launcher(script: script)
            let error = try #require(throws: ClientError.self) { try launcher.connectOrStart(role: .command) }
            #expect(error.code == .unreachable && !error.message.contains("\n"))
            #expect(words.allSatisfy { error.message.contains($0) }, "\(error)")
        }
        let missing = DaemonLauncher(paths: paths, schema: 1, executable: directory.file("missing"))
        let error = try #require(throws: ClientError.self) { try missing.connectOrStart(role: .command) }
        #expect(error.code == .unreachable && error.message.contains("missing"))
    }

    @Test func oneOfManyClientsStartsTheDaemonAndAllConnect() async throws {
        // The program waits until the daemon's socket exists, and then exits.
        let launcher = try launcher(
            script: "echo \"$*\" >> \(directory.file("starts"))\n"
                + "i=0; while [ ! -S \(paths.socket) ] && [ $i -lt 6000 ]; do sleep 0.01; i=$((i+1)); done")
        let found = Mutex(0)
        for _ in 0..<4 {
            Thread.detachNewThread {
                guard let connection = try? launcher.connectOrStart(role: .command) else { return }
                found.withLock { $0 += 1 }
                connection.close()
            }
        }
        try await waitUntil(description: "a daemon is started") {
            FileManager.default.fileExists(atPath: directory.file("starts"))
        }
        let server = try daemon(welcome())
        try await waitUntil(description: "all clients are connected") { found.withLock { $0 } == 4 }
        #expect(try String(contentsOfFile: directory.file("starts"), encoding: .utf8) == "daemon\n")
        try await server.wait(for: .hello, count: 4)
    }
}

struct ChildProgramTests {
    @Test func exitCodesSignalsAndErrorsAreReported() {
        func run(_ script: String) -> ChildProgram.Result {
            ChildProgram.run("/bin/sh", ["sh", "-c", script], environment: ["A": "b c"])
        }
        let failed = run("echo one >&2; echo nothing; echo \"two $A\" >&2; exit 7")
        #expect(failed.status == 7 && failed.errors == "one\ntwo b c\n")
        #expect(run("kill -9 $$").status == 137)
        #expect(run("read line && exit 1; exit 0").status == 0)
        let missing = ChildProgram.run("/nowhere/podfs", ["podfs"], environment: [:])
        #expect(missing.status == 127 && missing.errors.contains("/nowhere/podfs"))
    }
}
