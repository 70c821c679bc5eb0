import Fuse
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

/// setxattr(2) in the mount: calls that the mount rejects at once, and calls that it sends to the daemon as commands.
struct ControlTests {
    private let mounted: Mounted
    private let podcast: Podcast
    private let show: NodeID
    private let node: NodeID
    private let id: EpisodeID

    init() throws {
        mounted = try Mounted(script: "touch \"$0.started\"")
        podcast = try mounted.subscribe(episodes: 2)
        show = try mounted.entry("Show").node
        id = try mounted.episode(1).id
        node = NodeNumber(kind: .episode, generation: 1, row: id).node
    }

    @Test(arguments: [
        "", "evicted", "download", "Resume", "resume now", "0", "refresh", "resume\0", "\u{1B}", "suspend,resume",
    ])
    func meaninglessActionsAreInvalid(value: String) {
        #expect(mounted.setxattr(node, "user.podfs.task", value).answer == .error(.invalidArgument))
        #expect(!mounted.wasStarted)
    }

    @Test func meaninglessValuesAreInvalid() throws {
        for value in ["", "2", "yes", "01", "true", "-1"] {
            #expect(mounted.setxattr(node, "user.podfs.played", value).answer == .error(.invalidArgument), "\(value)")
        }
        for value in ["", "-1", "nan", "inf", "1:30", "12s", "-inf", "1e999"] {
            #expect(mounted.setxattr(node, "user.podfs.position", value).answer == .error(.invalidArgument), "\(value)")
        }
        // A folder has no attributes of an episode, and a generated file has no tasks.
        let status = try mounted.entry(".status").node
        #expect(mounted.setxattr(show, "user.podfs.played", "1").answer == .error(.invalidArgument))
        #expect(mounted.setxattr(show, "user.podfs.position", "1").answer == .error(.invalidArgument))
        #expect(mounted.setxattr(status, "user.podfs.task", "resume").answer == .error(.invalidArgument))
        #expect(
            mounted.setxattr(NodeID(rawValue: .max), "user.podfs.task", "resume").answer == .error(.invalidArgument))
        #expect(!mounted.wasStarted)
    }

    @Test func otherNamesAreReadOnly() {
        for name in [
            "user.podfs.state", "user.podfs.task2", "user.comment", "security.selinux", "user.podfs", "", "trusted.x",
        ] {
            #expect(mounted.setxattr(node, name, "resume").answer == .error(.readOnlyFileSystem), "\(name)")
        }
    }

    @Test func onlyTheOwnerControls() {
        for uid in [0, 1_001] as [UInt32] {
            for (name, value) in [("task", "resume"), ("task", "nonsense"), ("played", "1"), ("position", "3")] {
                let reply = mounted.setxattr(node, "user.podfs." + name, value, uid: uid)
                #expect(reply.answer == .error(.notPermitted))
            }
        }
        #expect(!mounted.wasStarted)
    }

    // MARK: Requests to the daemon

    private func daemon(_ reply: Reply = .acted(count: 1, problems: [])) async throws -> FakeDaemon {
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in daemon.answer(frame, reply) }
        try await mounted.connect()
        return daemon
    }

    @Test func actionsAreSentToTheDaemonAndAnsweredWhenDone() async throws {
        let daemon = try await daemon()
        for action in TaskAction.allCases where action != .download {
            #expect(try await mounted.setxattr(node, "user.podfs.task", action.rawValue).answered() == .done)
            #expect(daemon.commands.last == .act(action, episodes: [id]))
        }
        // White space around the value, such as the line feed that echo(1) appends, is ignored.
        #expect(try await mounted.setxattr(node, "user.podfs.task", " pin\n").answered() == .done)
        #expect(daemon.commands.last == .act(.pin, episodes: [id]))
    }

    @Test func actionsOnFoldersApplyToTheirEpisodes() async throws {
        let daemon = try await daemon()
        let all = try mounted.library.entries(of: podcast.id).map(\.id)
        for folder in [show, NodeNumber.root.node] {
            #expect(try await mounted.setxattr(folder, "user.podfs.task", "pin").answered() == .done)
            #expect(all.count == 2 && daemon.commands.last == .act(.pin, episodes: all))
            // These commands apply to existing tasks only: they create no download.
            for action in [TaskAction.resume, .suspend, .cancel] {
                #expect(try await mounted.setxattr(folder, "user.podfs.task", action.rawValue).answered() == .done)
                #expect(daemon.commands.last == .act(action, episodes: []))
            }
        }
        #expect(
            try await mounted.setxattr(NodeNumber.root.node, "user.podfs.task", "nonsense").answered()
                == .error(.invalidArgument))
    }

    @Test func playedAndPositionAreSentToTheDaemon() async throws {
        let daemon = try await daemon(.done)
        #expect(try await mounted.setxattr(node, "user.podfs.played", "1\n").answered() == .done)
        #expect(daemon.commands.last == .setPlayed(episode: id, true))
        #expect(try await mounted.setxattr(node, "user.podfs.played", "0").answered() == .done)
        #expect(daemon.commands.last == .setPlayed(episode: id, false))
        #expect(try await mounted.setxattr(node, "user.podfs.position", "61.5").answered() == .done)
        #expect(daemon.commands.last == .setPosition(episode: id, seconds: 61.5))
    }

    @Test func aRefreshAppliesToTheWholeShow() async throws {
        let daemon = try await daemon(.refreshed([RefreshResult(name: "Show", added: 1)]))
        #expect(try await mounted.setxattr(show, "user.podfs.task", "refresh").answered() == .done)
        #expect(daemon.commands == [.refresh(podcasts: [podcast.id])])
        #expect(try await mounted.setxattr(NodeNumber.root.node, "user.podfs.task", "refresh").answered() == .done)
        #expect(daemon.commands.last == .refresh(podcasts: []))
    }

    @Test func aRefreshOfNoShowsSucceedsOnTheRootAlone() async throws {
        _ = try await daemon(.refreshed([]))
        #expect(try await mounted.setxattr(NodeNumber.root.node, "user.podfs.task", "refresh").answered() == .done)
        // For a show, the empty reply means that the show was removed before the daemon handled the command.
        #expect(try await mounted.setxattr(show, "user.podfs.task", "refresh").answered() == .error(.ioError))
    }

    @Test func problemsFailAnActionUnlessAnEpisodeSucceeded() async throws {
        let replies: [(Reply, RecordedAnswer)] = [
            (.acted(count: 0, problems: ["it is open in a program"]), .error(.resourceBusy)),
            (.acted(count: 0, problems: []), .done),
            (.acted(count: 1, problems: ["another was open"]), .done),
            (.refreshed([RefreshResult(name: "Show", added: 0, error: "the server answered 500")]), .error(.ioError)),
            (.refreshed([]), .error(.ioError)),
        ]
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.answer(frame, replies[daemon.frames.count - 1].0)
        }
        for (reply, answer) in replies {
            #expect(try await mounted.setxattr(node, "user.podfs.task", "evict").answered() == answer, "\(reply)")
        }
        #expect(daemon.commands.count == replies.count)
    }

    @Test func aFailureIsReportedByItsErrno() async throws {
        let failures = [
            (Failure(errorNumber: 28, message: "the disk is full"), Errno.noSpace),
            (Failure(message: "no"), .ioError), (Failure(kind: .usage, message: "no"), .ioError),
        ]
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.answer(frame, failures[daemon.frames.count - 1].0)
        }
        for (_, error) in failures {
            #expect(try await mounted.setxattr(node, "user.podfs.task", "resume").answered() == .error(error))
        }
        #expect(daemon.commands.count == 3)
    }

    @Test func withoutADaemonOneIsStartedAndTheFailureReported() async throws {
        #expect(try await mounted.setxattr(node, "user.podfs.task", "resume").answered() == .error(.ioError))
        #expect(mounted.wasStarted)
    }

    @Test func aCallerThatIsInterruptedIsAnswered() async throws {
        let daemon = try await mounted.daemon()
        let reply = mounted.setxattr(node, "user.podfs.task", "resume")
        let command = try #require(try await daemon.wait(for: .command).first)
        reply.interrupt()
        #expect(try await reply.answered() == .error(.interrupted))
        #expect(try await daemon.wait(for: .cancel).first?.number == command.number)
    }
}
