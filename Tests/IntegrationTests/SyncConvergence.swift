import Foundation
import Glibc
import PodcastLibrary
import PodcastProtocol
import Synchronization
import TestSupport
import Testing

/// A randomized test of synchronization. Two installations of podfs (`homes`) use one sync server. After random
/// actions, killed daemons and failures of the server, both must have the same subscriptions and playback states.
///
/// The seed determines the actions and the faults, but neither the time at which a killed daemon dies nor which
/// response is lost.
final class SyncConvergence {
    /// The playback state of an episode.
    enum Heard: Equatable {
        case new, played
        case at(Int)
    }

    struct Report {
        var steps = 0
        var kills = 0
        var killsInExchange = 0
        var outages = 0
        var faults = 0
        var exchanges = 0
        var actionsOnServer = 0
        var rounds = 0
        var differences: [String] = []
        /// The history, for debugging.
        var trail: [String] = []

        var text: String {
            "\(steps) steps, \(kills) kills (\(killsInExchange) of them in an exchange), \(outages) outages, \(faults) faults, "
                + "\(exchanges) exchanges, \(actionsOnServer) actions on the server, in sync after \(rounds) rounds"
        }
    }

    /// The faults of the next requests, in reverse order.
    private final class Faults: Sendable {
        let list = Mutex<[SyncServer.Fault]>([])
    }

    private static let shows = 3
    private static let episodes = 3
    private static let steps = 60

    let server: SyncServer
    private let web = HTTPTestServer()
    private let homes: [PodfsHome]
    private var dice: SeededGenerator
    private let isNextcloud: Bool
    private let rotates: Bool
    private var report = Report()
    private var isDown = false
    private var rotation = 0
    private let faults = Faults()
    /// The actions on each episode `SHOW/EPISODE`, with the home that performed them.
    private var heard: [String: [(home: Int, what: Heard)]] = [:]
    /// The shows that any home has unsubscribed from.
    private var unsubscribed: Set<Int> = []
    /// The homes that have subscribed to or unsubscribed from each show.
    private var subscribers: [Int: Set<Int>] = [:]
    /// Whether the last change of each show's subscription was a subscription.
    private var lastWish: [Int: Bool] = [:]

    init(seed: UInt64) throws {
        dice = SeededGenerator(seed: seed)
        isNextcloud = seed.isMultiple(of: 2)
        var manner = SyncServer.Manner()
        manner.comparesDeviceTime = Bool.random(using: &dice)
        manner.keepsDevicesApart = Bool.random(using: &dice)
        manner.keepsGUID = Bool.random(using: &dice)
        manner.clockSkew = [0, 0, 3_600, -7_200].randomElement(using: &dice) ?? 0
        manner.largestBody = [400, 1_200, 1 << 20].randomElement(using: &dice) ?? 1 << 20
        rotates = isNextcloud || manner.keepsGUID
        server = SyncServer(manner: manner)
        homes = try (0..<2).map { _ in try PodfsHome() }
        try server.start()
        try web.start()
        server.setFault { [faults] _ in faults.list.withLock { $0.popLast() } }
        for home in homes { try home.configure("[sync]\ninterval = \"1 h\"\ndelay = \"1 s\"\n") }
        publish()
    }

    deinit {
        for home in homes { home.killDaemon() }
    }

    private func feed(_ show: Int) -> String { web.url("/\(show).xml") }

    /// Serves the feeds. The media addresses contain a token that changes with `rotation`.
    private func publish() {
        for show in 0..<Self.shows {
            let items = (0..<Self.episodes).map { number in
                FeedBuilder.Item(
                    title: "Episode \(number)", guid: "guid-\(show)-\(number)",
                    url: web.url("/\(show)-\(number).mp3") + (rotation > 0 ? "?token=\(rotation)" : ""), length: 1_000,
                    published: FeedBuilder.date(day: number + 1), duration: number.isMultiple(of: 2) ? "500" : nil)
            }
            let text = FeedBuilder(title: "Show \(show)", items: items).text
            web.serve("/\(show).xml", Resource(text: text, contentType: "application/rss+xml"))
        }
    }

    // MARK: Daemons

    private func connection(_ home: Int) async throws -> DaemonConnection {
        let paths = try #require(InstallationPaths(environment: homes[home].environment))
        let launcher = DaemonLauncher(paths: paths, schema: Library.schemaVersion)
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let found = try? launcher.connect(role: .command) { return found }
            guard ContinuousClock.now < deadline else { throw DeadlineError("a daemon answers") }
            _ = try await homes[home].run("daemon")
        }
    }

    @discardableResult
    private func perform(_ command: Command, on home: Int) async throws -> Reply {
        let daemon = try await connection(home)
        defer { daemon.close() }
        return try await daemon.perform(command)
    }

    private func library(_ home: Int) throws -> Library { try Library.openForReading(at: homes[home].library) }

    private func exchange(_ home: Int) async throws -> Bool {
        report.exchanges += 1
        let isDone = (try? await perform(.syncNow(despiteHold: true), on: home)) != nil
        report.trail.append("\(home) sync\(isDone ? "" : " fails")")
        return isDone
    }

    private func show(_ show: Int, of home: Int) throws -> Podcast? {
        try library(home).podcasts().first { $0.url == feed(show) }
    }

    // MARK: The schedule

    func perform() async throws -> Report {
        for home in homes.indices {
            let request = SyncLoginRequest(
                url: server.url, user: "anna", password: "s3cret pass", device: "home-\(home)",
                kind: isNextcloud ? "nextcloud" : nil)
            try await connection(home).close()
            // Sometimes the home has a subscription before it logs in.
            if Bool.random(using: &dice) { try await subscribe(home) }
            try await perform(.syncLogin(request), on: home)
        }
        for _ in 0..<Self.steps {
            report.steps += 1
            try await step()
        }
        if isDown { try server.start() }
        faults.list.withLock { $0 = [] }
        try await settle()
        try compare()
        report.actionsOnServer = server.actions.count
        return report
    }

    private func step() async throws {
        let home = Int.random(in: 0..<homes.count, using: &dice)
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<14: try await subscribe(home)
        case 14..<20: try await unsubscribe(home)
        case 20..<62: try await listen(home)
        case 62..<76: _ = try await exchange(home)
        case 76..<82: try await kill(home, inExchange: false)
        case 82..<88: try await kill(home, inExchange: true)
        case 88..<92:
            if isDown { try server.start() } else { server.stop() }
            isDown.toggle()
            report.outages += 1
            report.trail.append(isDown ? "server down" : "server up")
        case 92..<97: arm()
        default:
            guard rotates else { return }
            rotation += 1
            publish()
            _ = try? await perform(.refresh(podcasts: []), on: home)
        }
    }

    private func subscribe(_ home: Int) async throws {
        let number = Int.random(in: 0..<Self.shows, using: &dice)
        guard try show(number, of: home) == nil else { return }
        guard (try? await perform(.subscribe(url: feed(number), name: nil), on: home)) != nil else { return }
        subscribers[number, default: []].insert(home)
        lastWish[number] = true
        report.trail.append("\(home) +\(number)")
    }

    private func unsubscribe(_ home: Int) async throws {
        let number = Int.random(in: 0..<Self.shows, using: &dice)
        guard let show = try show(number, of: home) else { return }
        guard (try? await perform(.unsubscribe(podcast: show.id), on: home)) != nil else { return }
        unsubscribed.insert(number)
        subscribers[number, default: []].insert(home)
        lastWish[number] = false
        report.trail.append("\(home) -\(number)")
    }

    private func listen(_ home: Int) async throws {
        let shows = (0..<Self.shows).shuffled(using: &dice)
        let number = Int.random(in: 0..<Self.episodes, using: &dice)
        let seconds = Int.random(in: 1..<400, using: &dice)
        let what =
            [Heard.at(seconds), .at(seconds), .at(seconds), .played, .played, .new].randomElement(using: &dice) ?? .new
        for candidate in shows {
            guard let show = try show(candidate, of: home),
                let episode = try library(home).episodes(of: show.id).first(where: { $0.title == "Episode \(number)" })
            else { continue }
            switch what {
            case .at(let seconds):
                try await perform(.setPosition(episode: episode.id, seconds: Double(seconds)), on: home)
            case .played: try await perform(.setPlayed(episode: episode.id, true), on: home)
            case .new:
                try await perform(.setPlayed(episode: episode.id, false), on: home)
                try await perform(.setPosition(episode: episode.id, seconds: 0), on: home)
            }
            heard["\(candidate)/\(number)", default: []].append((home, what))
            return
        }
    }

    private func kill(_ home: Int, inExchange: Bool) async throws {
        report.kills += 1
        report.trail.append("\(home) killed\(inExchange ? " in an exchange" : "")")
        guard inExchange else { return homes[home].killDaemon() }
        report.killsInExchange += 1
        let daemon = try await connection(home)
        async let exchange = try? daemon.perform(.syncNow(despiteHold: true))
        try await Task.sleep(for: .microseconds(Int.random(in: 0...40_000, using: &dice)))
        homes[home].killDaemon()
        _ = await exchange
        daemon.close()
    }

    /// Adds a random fault to the next request, and sometimes one to a later request.
    private func arm() {
        report.faults += 1
        report.trail.append("fault")
        let fault: SyncServer.Fault =
            switch Int.random(in: 0..<6, using: &dice) {
            case 0: .instead(.status(503))
            case 1: .instead(.retryAfter("3600", status: 429))
            case 2: .instead(.status(200, body: "<html>Please log in</html>"))
            case 3: .instead(.status(200, body: "{\"actions\": ["))
            default: .answerLost
            }
        faults.list.withLock { $0.append(fault) }
        // The first request of an exchange only reads. Sometimes the response to a later request is lost as well.
        if Bool.random(using: &dice) { faults.list.withLock { $0.insert(.answerLost, at: 0) } }
    }

    // MARK: The end

    /// Synchronizes the homes until they do not differ: at least twice, and at most six times. `compare` then reports
    /// homes that have not converged.
    private func settle() async throws {
        for round in 1...6 {
            for home in homes.indices {
                #expect(try await exchange(home), "an exchange with a server without faults fails")
            }
            report.rounds = round
            if round > 1, try differences().isEmpty { return }
        }
    }

    private func compare() throws {
        report.differences = try differences()
        let present = try Set(library(0).podcasts().map(\.url))
        for home in homes.indices {
            if try library(home).syncQueue().oldest != nil {
                report.differences.append("home \(home) has unsent changes")
            }
            let there = server.subscriptions(of: isNextcloud ? "" : "home-\(home)")
            if there != present { report.differences.append("the server has \(there), the homes \(present)") }
        }
        // If only one home acted, its last action wins.
        for number in 0..<Self.shows {
            guard let wish = lastWish[number], subscribers[number]?.count == 1 else { continue }
            if present.contains(feed(number)) != wish {
                report.differences.append("the only home that changed show \(number) set its subscription to \(wish)")
            }
        }
        for (name, changes) in heard {
            let show = Int(name.prefix { $0 != "/" }) ?? 0
            guard !unsubscribed.contains(show), Set(changes.map(\.home)).count == 1, let last = changes.last else {
                continue
            }
            if let found = try state(of: 0)[name], found != last.what {
                report.differences.append("\(name) is \(found), and was last \(last.what)")
            }
        }
    }

    private func differences() throws -> [String] {
        let (one, other) = (try state(of: 0), try state(of: 1))
        return Set(one.keys).union(other.keys).sorted().compactMap { name in
            one[name] == other[name]
                ? nil
                : "\(name): \(one[name].map { "\($0)" } ?? "absent") and \(other[name].map { "\($0)" } ?? "absent"), "
                    + "heard \(heard[name] ?? [])"
        }
    }

    private func state(of home: Int) throws -> [String: Heard] {
        let library = try library(home)
        var state: [String: Heard] = [:]
        for number in 0..<Self.shows {
            guard let show = try show(number, of: home) else { continue }
            for episode in try library.episodes(of: show.id) {
                let position = Int(episode.position ?? 0)
                state["\(number)/\(episode.title.dropFirst(8))"] =
                    episode.played ? .played : position > 0 ? .at(position) : .new
            }
        }
        return state
    }
}
