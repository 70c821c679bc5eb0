import Platform
import PodcastProtocol
import TestSupport
import Transfers

@testable import PodcastFilesystem
@testable import PodcastService

/// A simulation of media players on a bus, the tracker that watches them, and the daemon that stores the changes that
/// follow from the tracker's reports. It includes latencies, sleep and crashes, and records the first violation of an
/// invariant.
///
/// Times are in milliseconds of a clock that stops while the machine sleeps.
struct PlayerWorld {
    private enum Message {
        case input(PlayerTracker.Input)
        /// A request that a player answers.
        case read(PlayerID), readPosition(PlayerID)
        case seek(PlayerID, track: String?, Double)
        case report(PlayerID, session: Int, ListeningReport)
    }

    static let episodes = 3
    var random: SeededGenerator
    private(set) var tracker = PlayerTracker()
    private var book = ListeningBook()
    /// The library's rows by file number. The file with the number `episodes` is not an episode, and has no row.
    private(set) var stored: [StoredListening] = []
    var players: [SimulatedPlayer] = []
    let lengths: [Double]
    let latency: Int
    /// The id of a program that sends random signals on the bus, if there is one.
    let hostile: PlayerID?
    private(set) var now = 1_000
    private var slept = 0
    /// Whether the daemon's clock runs while the machine sleeps.
    private let countsSleep: Bool
    private var queue: [(time: Int, number: Int, message: Message)] = []
    private var sent = 0
    /// The time from which the stored position of each episode must be correct again.
    private var exemptUntil: [Int]
    /// The number of the player that acted last on each episode. The stored position is checked while this player has
    /// the episode loaded, even if no player plays.
    private var actors: [Int?] = Array(repeating: nil, count: episodes)
    /// The episodes that the hostile program has claimed to play.
    private var claimed: Set<Int> = []
    private(set) var violations: [String] = []
    private(set) var counts: [String: Int] = [:]
    /// The latest events, for debugging.
    private var trail: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var random = random
        lengths = (0...Self.episodes).map { _ in Double(Int.random(in: 40...4_000, using: &random)) }
        latency = random.pick(0, 3, 30)
        stored = lengths.prefix(Self.episodes).map { length in
            // Feeds often state a slightly wrong duration.
            let duration: Double? = random.pick(nil, length, length, (length * 0.9).rounded(), (length * 1.1).rounded())
            let position: Double? = random.chance(60) ? .random(in: 0..<length, using: &random) : nil
            return StoredListening(played: random.chance(15), position: position, duration: duration)
        }
        for number in 0..<random.pick(1, 2, 2, 3) {
            players.append(
                SimulatedPlayer(
                    number: number, announcesSeeks: random.chance(70), obeys: random.chance(90),
                    knowsLength: random.chance(80)))
        }
        countsSleep = random.chance(50)
        hostile = random.chance(25) ? PlayerID(":1.666") : nil
        exemptUntil = Array(repeating: 0, count: Self.episodes)
        self.random = random
        for player in players { join(player.id) }
        if let hostile { send(.appeared(hostile, name: "hostile", process: 666)) }
    }

    mutating func violate(_ text: String) {
        if violations.isEmpty { violations.append("at \(now) ms: \(text), after \(trail.suffix(25))") }
    }

    mutating func note(_ text: String) { trail.append("\(now) \(text)") }

    mutating func count(_ name: String) { counts[name, default: 0] += 1 }

    // MARK: Messages

    private mutating func post(_ message: Message) {
        sent += 1
        queue.append((now + latency, sent, message))
    }

    mutating func send(_ input: PlayerTracker.Input) { post(.input(input)) }

    /// Starts a player's connection to the bus.
    mutating func join(_ id: PlayerID) {
        guard let index = index(id) else { return }
        players[index].isPresent = true
        send(.appeared(id, name: players[index].name, process: players[index].process))
    }

    func index(_ id: PlayerID) -> Int? { players.firstIndex { $0.id == id } }

    /// Advances the clock, and processes the messages, the deadlines and the ends of files until then.
    mutating func advance(_ milliseconds: Int) {
        let target = now + milliseconds
        var rounds = 0
        while rounds < 10_000 {
            rounds += 1
            let first = queue.indices.min { (queue[$0].time, queue[$0].number) < (queue[$1].time, queue[$1].number) }
            let deadline = tracker.deadline.map { Int((($0 - .start) / .milliseconds(1)).rounded(.up)) }
            let end = players.compactMap(\.end).min()
            let next = [first.map { queue[$0].time }, deadline, end].compactMap(\.self).min()
            guard let next, next <= target else {
                now = max(now, target)
                return check()
            }
            now = max(now, next)
            check()
            if let first, queue[first].time <= now {
                deliver(queue.remove(at: first).message)
            } else if let index = players.firstIndex(where: { $0.end.map { $0 <= now } ?? false }) {
                reachEnd(index)
            } else {
                handle(.tick)
            }
            check()
        }
        violate("a deadline that is never met")
    }

    private mutating func deliver(_ message: Message) {
        switch message {
        case .input(let input): handle(input)
        case .read(let id):
            guard let index = index(id), players[index].isPresent else { return }
            send(.changed(id, players[index].properties(at: now, withPosition: true)))
        case .readPosition(let id):
            guard let index = index(id), players[index].isPresent else {
                // The hostile program answers with any number.
                return send(.position(id, id == hostile ? hostileNumber() : nil))
            }
            // Some players report no position while they load.
            let isLoading = players[index].isPlaying && players[index].position(at: now) < 3 && random.chance(10)
            if isLoading, let file = players[index].file { exempt(file, 11_000) }
            send(.position(id, isLoading ? nil : players[index].position(at: now)))
        case .seek(let id, let track, let target):
            guard let index = index(id), players[index].hasFile, players[index].obeys,
                track == players[index].track.id
            else { return }
            seek(index, to: target, isOwn: false)
        case .report(let id, let session, let report): store(report, of: id, session)
        }
    }

    private mutating func handle(_ input: PlayerTracker.Input) {
        for effect in tracker.handle(input, at: .milliseconds(now)) {
            switch effect {
            case .read(let id): post(.read(id))
            case .readPosition(let id): post(.readPosition(id))
            case .locate(let id, let url, _):
                let number = url.split(separator: "/").last.flatMap { Int($0) }
                send(.located(id, url: url, number.flatMap { $0 < Self.episodes ? EpisodeID(Int64($0)) : nil }))
            case .report(let id, let session, let report):
                judge(report, of: id)
                post(.report(id, session: session, report))
            case .seek(let id, let track, let target, _):
                judgeSeek(id, track, to: target)
                post(.seek(id, track: track, target))
            }
        }
    }

    private mutating func store(_ report: ListeningReport, of id: PlayerID, _ session: Int) {
        let number = Int(report.episode.rawValue)
        let before = stored[number]
        let verdict = book.handle(report, stored: before, at: .milliseconds(now + (countsSleep ? slept : 0)))
        note("\(report.player) \(report.phase) \(number) \(report.position), \(verdict)")
        if let index = index(id), report.phase == .started {
            players[index].wasPlayed = before.played
            players[index].isTentative = report.position < 5
        }
        if let change = verdict.change {
            count("writes")
            (stored[number].played, stored[number].position) = (change.played, change.position)
            let end = report.validated(within: nil)?.duration ?? before.duration ?? ListeningRules.longest
            if let position = change.position, position != before.position, !(0...end).contains(position) {
                violate("\(position) is stored for an episode that ends at \(end)")
            }
            if change.played, !before.played { judgeMark(number) }
            if change.played != before.played { exempt(number, 11_000) }
        }
        if let resume = verdict.resume { send(.answered(id, session: session, resume: resume)) }
    }

    // MARK: Events of the machine

    mutating func sleep(_ milliseconds: Int) {
        note("sleeps")
        slept += milliseconds
        if countsSleep { for file in 0..<Self.episodes { exempt(file, 20_000) } }
    }

    /// Replaces the daemon, as if it had been killed. The next daemon knows only what is stored in the library.
    mutating func restartDaemon() {
        note("daemon killed")
        book = ListeningBook()
    }

    /// The bus goes away and comes back.
    mutating func loseBus() {
        note("bus lost")
        handle(.disconnected)
        queue.removeAll { if case .report = $0.message { false } else { true } }
        tracker = PlayerTracker()
        for index in players.indices where players[index].isPresent {
            // For the new tracker, each player has just started.
            players[index].starts += 1
            join(players[index].id)
            if let file = players[index].file, file < Self.episodes {
                send(.opened(EpisodeID(Int64(file))))
                exempt(file, 12_000)
            }
        }
        if let hostile { send(.appeared(hostile, name: "hostile", process: 666)) }
    }

    mutating func mark(_ file: Int, _ played: Bool, position: Double?) {
        note("mark \(file) \(played)")
        stored[file].played = played
        stored[file].position = position
        actors[file] = nil
        exempt(file, 31_000)
    }

    mutating func claim(_ file: Int) { claimed.insert(file) }

    /// Exempts an episode's stored position from the checks for a time.
    ///
    /// - Parameters:
    ///   - grace: The time of the exemption in milliseconds; six latencies are added.
    ///   - actor: The number of the player that has acted.
    mutating func exempt(_ file: Int, _ grace: Int, by actor: Int? = nil) {
        guard file < Self.episodes else { return }
        if let actor { actors[file] = actor }
        exemptUntil[file] = max(exemptUntil[file], now + grace + 6 * latency)
    }

    // MARK: Invariants

    private mutating func judge(_ report: ListeningReport, of id: PlayerID) {
        count("reports")
        guard let index = index(id) else { return }
        let longest = lengths[Int(report.episode.rawValue)]
        let isPossible = report.position >= 0 && report.position <= longest + 10 * players[index].rate
        if !isPossible || players[index].knowsLength && report.position > longest {
            violate("\(report.phase) at \(report.position) in a file of \(longest) s")
        }
    }

    private mutating func judgeSeek(_ id: PlayerID, _ track: String?, to target: Double) {
        count("resumes")
        // A player ignores a seek in a track that it no longer has.
        guard let index = index(id), let file = players[index].file, players[index].track.id == track else { return }
        let player = players[index]
        if player.askedStart == player.starts { violate("\(player.name) is asked twice in start \(player.starts)") }
        players[index].askedStart = player.starts
        if player.wasPlayed { violate("\(player.name) is moved in a played episode") }
        if !(0...lengths[file] * 1.2).contains(target), !claimed.contains(file) {
            violate("\(player.name) is moved to \(target)")
        }
        // The tracker cannot know of the player's actions in the last round trip.
        let hasResumed = player.position(at: now) > 7.3 * max(1, player.rate) + 3
        if hasResumed, now - player.seeked > 3 * latency {
            violate("\(player.name) is moved, but has sought to \(player.position(at: now))")
        }
    }

    /// Checks that a player is in the tail (the last part) of an episode that was marked as played, or that the episode
    /// is exempt.
    private mutating func judgeMark(_ file: Int) {
        count("marks")
        guard !claimed.contains(file) else { return }
        let duration = min(lengths[file], stored[file].duration ?? lengths[file])
        let begin = duration - ListeningRules.tail(of: duration)
        let isThere = players.contains { $0.file == file && $0.position(at: now) > begin - 12 * $0.rate }
        let hasBeen = exemptUntil[file] > now
        if !isThere, !hasBeen { violate("episode \(file) is played, but no player is in its tail") }
    }

    /// Compares the stored positions with the places where the players have been in the last ten seconds.
    private mutating func check() {
        for file in 0..<Self.episodes where now >= exemptUntil[file] && !claimed.contains(file) {
            let here = players.filter { $0.file == file && $0.hasFile }
            let waits = ListeningRules.isInProgress(played: stored[file].played, position: stored[file].position)
            let ready =
                !waits || here.allSatisfy { !$0.isTentative || $0.listened(at: now) > 10 + 12 * max(1, $0.rate) }
            let counts =
                here.contains { $0.isPlaying } || here.contains { $0.id == actors[file].map { players[$0].id } }
            guard ready, counts, !stored[file].played else { continue }
            count("comparisons")
            let past = now - 10_000 - 6 * latency
            let position = stored[file].position ?? -1
            let isRight = here.contains { player in
                let end = player.knowsLength ? player.length : stored[file].duration ?? player.length
                return min(end, player.position(at: past)) - 1 <= position && position <= player.position(at: now) + 1
            }
            if !isRight {
                let places = here.map { "\($0.status) \($0.position(at: past))...\($0.position(at: now))" }
                violate("episode \(file) is stored at \(position), the players are at \(places)")
            }
        }
    }

    mutating func hostileNumber() -> Double {
        random.pick(
            .nan, .infinity, -.infinity, -1, 0, 1e300, -1e300, 5, 1_000, ListeningRules.longest,
            .random(in: -1e6...1e6, using: &random), .leastNonzeroMagnitude)
    }
}
