import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Testing
import Transfers

@testable import PodcastFilesystem

/// The connection to the daemon, without a filesystem.
struct DaemonLinkTests {
    /// Provides the paths, the program and the link. Its filesystem is not used.
    private let mounted: Mounted
    private let link: DaemonLink

    init() throws {
        mounted = try Mounted(
            script: """
                i=0
                while [ ! -S "${0%/*}/r/podfs/daemon.sock" ] && [ $i -lt 6000 ]; do sleep 0.01; i=$((i+1)); done
                """)
        link = mounted.link
    }

    private func text(_ result: Result<Frame, Failure>) -> String {
        switch result {
        case .success(let frame): "\(frame.kind)"
        case .failure(let failure): "\(failure.errorNumber)"
        }
    }

    @Test func aRequestCancelledBeforeAConnectionIsNotSent() async throws {
        let answers = Journal<String>()
        let token = link.send(.read, [1]) { answers.append(text($0)) }
        link.cancel(token)
        link.send(.read, [2]) { answers.append(text($0)) }
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.send(Frame(kind: .grant, number: frame.number))
        }
        try await waitUntil { answers.entries == ["grant"] }
        #expect(daemon.frames.map(\.payload) == [[2]])
        link.close()
    }

    @Test func everyOpenThatIsGrantedIsAnsweredOrCancelled() async throws {
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            if frame.kind == .open { daemon.send(Frame(kind: .grant, number: frame.number)) }
        }
        link.send(.read, []) { _ in }
        try await daemon.wait(for: .read)
        let answered = Mutex(0)
        // The cancel competes with the response.
        for round in 0..<2_000 {
            let token = link.send(.open, []) { _ in answered.withLock { $0 += 1 } }
            for _ in 0..<(round % 200) { _ = daemon.isConnected }
            link.cancel(token)
        }
        try await daemon.wait(for: .open, count: 2_000)
        try await waitUntil {
            let cancelled = Set(daemon.frames.lazy.filter { $0.kind == .cancel }.map(\.number)).count
            return cancelled + answered.withLock { $0 } == 2_000
        }
        link.close()
    }

    @Test func theObserverIsNotifiedOfConnectionsAndDisconnections() async throws {
        let journal = Journal<String>()
        let task = TaskInfo(
            id: 9, kind: .download, path: "a/b", episode: 3, state: .running, received: 1, expected: nil, rate: nil,
            error: nil, started: 5)
        let first = try FakeDaemon(mounted.paths, tasks: [task])
        link.start(
            observer: DaemonLink.Observer(
                event: { journal.append("event \($0.sequence)") },
                connected: { journal.append("connected \($0.map(\.id))") },
                disconnected: { journal.append("disconnected") }), startsDaemon: false)
        try await waitUntil { journal.entries == ["connected [9]"] }
        first.send(Event(sequence: 5, time: 1, .idle))
        try await waitUntil { journal.entries.count == 2 }
        first.die()
        try await waitUntil { journal.entries.count == 3 }
        let second = try FakeDaemon(mounted.paths)
        try second.writePIDFile()
        try await waitUntil { journal.entries == ["connected [9]", "event 5", "disconnected", "connected []"] }
        link.close()
        // After `close` the handlers are no longer called.
        try await waitUntil { !second.isConnected }
        #expect(journal.entries.count == 4)
    }

    @Test func postsDoNotStartADaemon() async throws {
        link.post(.close, [1])
        let daemon = try FakeDaemon(mounted.paths)
        link.send(.read, []) { _ in }
        try await daemon.wait(for: .read)
        link.post(.close, [2])
        #expect(try await daemon.wait(for: .close).map(\.payload) == [[2]])
        link.close()
    }

    private func link(patience: Duration) -> DaemonLink {
        let launcher = DaemonLauncher(
            paths: mounted.paths, schema: Library.schemaVersion, executable: mounted.directory.file("podfs"))
        return DaemonLink(launcher: launcher, patience: patience)
    }

    /// Runs `count` daemons in turn that die at the first request. Expects `answers` to be empty before each starts.
    private func letDaemonsDie(_ count: Int, without answers: Journal<String>) async throws {
        for _ in 0..<count {
            #expect(answers.entries.isEmpty)
            let daemon = try FakeDaemon(mounted.paths) { daemon, _ in daemon.die() }
            try await daemon.wait(for: .read)
        }
    }

    @Test func aRequestWaitsThroughAStormOfKills() async throws {
        // While daemons die, the link fails no request before `patience` has passed. Even a machine under load runs six
        // daemons in less than an hour.
        let link = link(patience: .seconds(3_600))
        let answers = Journal<String>()
        link.send(.read, []) { answers.append(text($0)) }
        try await letDaemonsDie(6, without: answers)
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in
            daemon.send(Frame(kind: .grant, number: frame.number))
        }
        try await waitUntil { answers.entries == ["grant"] }
        #expect(daemon.frames.count == 1)
        link.close()
    }

    @Test func aRequestThatKillsDaemonsFails() async throws {
        let link = link(patience: .zero)
        let answers = Journal<String>()
        link.send(.read, []) { answers.append(text($0)) }
        try await letDaemonsDie(3, without: answers)
        try await waitUntil { answers.entries == ["\(ETIMEDOUT)"] }
        link.close()
    }

    @Test func everyRequestIsAnsweredOnceDespiteDyingDaemons() async throws {
        // The first task runs daemons that die: every fifth as soon as it is connected, the others at a request.
        let over = Journal<Bool>()
        let answered = Journal<Int>()
        let paths = mounted.paths
        let link = link
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var lives = 0
                while over.entries.isEmpty {
                    lives += 1
                    let most = (lives * 7) % 40
                    let dead = Journal<Bool>()
                    let daemon = try FakeDaemon(paths) { daemon, frame in
                        if daemon.frames.count <= most {
                            daemon.send(Frame(kind: .grant, number: frame.number))
                        } else {
                            daemon.die()
                            dead.append(true)
                        }
                    }
                    if lives % 5 == 0 {
                        try await waitUntil { daemon.isConnected || !dead.entries.isEmpty || !over.entries.isEmpty }
                        daemon.die()
                    } else {
                        try await waitUntil { !dead.entries.isEmpty || !over.entries.isEmpty }
                    }
                }
            }
            group.addTask {
                for request in 0..<600 {
                    link.send(.read, [UInt8(request % 256)]) { _ in answered.append(request) }
                    if request % 20 == 0 { try await waitUntil { answered.entries.count > request - 20 } }
                }
                try await waitUntil(description: "all requests are answered") { answered.entries.count >= 600 }
                over.append(true)
            }
            try await group.waitForAll()
        }
        link.close()
        #expect(answered.entries.sorted() == Array(0..<600))
    }
}
