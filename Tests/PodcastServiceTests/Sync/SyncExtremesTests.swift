import GRDB
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Numbers outside the range of any clock: in a sync server's responses, in rows of the library, and in commands.
@Suite(.stopsDaemons) struct SyncExtremesTests {
    @Test func noTwoClocksOverflow() {
        let reach = 2 * SyncTimeRange.latest
        for one in ExtremeNumbers.integers {
            for other in ExtremeNumbers.integers {
                let clock = SyncClock(local: one, server: other)
                #expect(clock.skew.magnitude <= reach.magnitude)
                let window = SyncWindow(last: one, lastFull: other)
                #expect((0...SyncTimeRange.latest).contains(window.episodesSince))
                #expect((0...SyncTimeRange.latest).contains(window.subscriptionsSince))
                for time in ExtremeNumbers.integers {
                    #expect(clock.time(ofLocal: time, floor: one).magnitude <= UInt64(2 * reach))
                    #expect(clock.clamped(time).magnitude <= reach.magnitude)
                }
            }
        }
    }

    @Test func answersOfExtremeNumbersAreReadOrRefused() throws {
        let home = ServiceHome()
        let library = try Library.openForWriting(at: home.paths.library)
        try library.beginSync(SyncAccount(url: "https://s", user: "u", device: "d", kind: .gpodder), now: 1)
        var dice = SeededGenerator(seed: 16)
        let messages = SyncMessages(account: SyncAccount(url: "https://s", user: "u", device: "d", kind: .nextcloud))
        var read = 0
        for round in 0..<3_000 {
            func number() -> String { ExtremeNumbers.json(using: &dice) }
            let kind = ["play", "new", "download"].randomElement(using: &dice) ?? "play"
            let body = """
                {"timestamp":\(round % 3 == 0 ? number() : "1800000000"),"add":[\(number())],"remove":[],"actions":[
                {"podcast":"https://p/\(round)","episode":"https://e/\(round)","action":"\(kind)",
                "timestamp":\(number()),"started":\(number()),"position":\(number()),"total":\(number())}],
                "update_urls":[[\(number()),\(number())]]}
                """
            _ = try? SyncAnswers.subscriptions(Array(body.utf8))
            _ = try? SyncAnswers.uploaded(Array(body.utf8))
            guard let found = try? SyncAnswers.actions(Array(body.utf8)) else { continue }
            read += 1
            #expect((0...SyncTimeRange.latest).contains(found.timestamp))
            _ = messages.body(found.actions)
            guard round % 10 == 0 else { continue }
            let clock = SyncClock(local: 1_800_000_000, server: found.timestamp)
            _ = try library.apply(
                found.actions, clock: clock, window: SyncWindow(last: found.timestamp, lastFull: nil),
                keepsLatestOnly: true, now: 1_800_000_000)
        }
        #expect(read > 1_000)
        try library.unpark(now: 1_800_000_000)
        #expect(try library.syncQueue().parked > 10)
    }

    /// A daemon that crashes on a stored number crashes again after each restart.
    @Test func aDaemonSurvivesExtremeTimestampsInAnswersAndRows() async throws {
        let home = ServiceHome()
        home.publish(episodes: 2)
        let server = SyncServer()
        try server.start()
        let (first, client) = try await home.subscribe {
            $0.sync = SyncSchedule(interval: .seconds(3_600), delay: .seconds(3_600))
        }
        let login = SyncLoginRequest(url: server.url, user: "anna", password: "s3cret pass", device: "here")
        try await client.perform(.syncLogin(login))
        try await client.perform(.syncNow(despiteHold: true))
        server.setFault { request in
            guard request.method == "GET" else { return nil }
            return .instead(
                .status(200, body: #"{"add":[],"remove":[],"actions":[],"timestamp":-9223372036854775808}"#))
        }
        let failure = await client.failure(of: .syncNow(despiteHold: true))
        #expect(failure?.message.contains("timestamp") == true)
        server.setFault { _ in nil }
        try await client.perform(.syncNow(despiteHold: true))
        await first.stop()

        let queue = try DatabaseQueue(path: home.paths.library)
        // Each daemon changes a position and a played state, so that it has something to send to the server.
        for (number, position) in [(.min, 77), (.max, 177)] as [(Int64, Int)] {
            try await queue.write { db in
                try db.execute(
                    sql: """
                        UPDATE sync_account SET subscriptions_since = ?1, episodes_since = ?1, episodes_full = ?1,
                            next_sync = ?1, last_sync = ?1, held_until = ?1, failures = ?1;
                        """, arguments: [number])
                try db.execute(
                    sql: "INSERT OR REPLACE INTO sync_episode SELECT id, ? FROM episode", arguments: [number])
            }
            let (daemon, client) = try await home.connect {
                $0.sync = SyncSchedule(interval: .seconds(3_600), delay: .seconds(3_600))
            }
            try await client.perform(.setPosition(episode: daemon.episode(1).id, seconds: Double(position)))
            try await client.perform(.setPlayed(episode: daemon.episode(2).id, number == .min))
            try await client.perform(.refresh(podcasts: []))
            try await client.perform(.syncNow(despiteHold: true))
            // The timestamp of the server's last answer has replaced the extreme one.
            let last = try #require(try daemon.library.syncAccount()).episodes.last
            #expect((1_600_000_000..<SyncTimeRange.latest).contains(last))
            #expect(server.actions.contains { $0["position"] as? Int == position })
            await daemon.stop()
        }
    }

    @Test func commandsOfExtremeNumbersAreAnswered() async throws {
        let home = ServiceHome()
        home.publish(episodes: 1)
        let (daemon, client) = try await home.subscribe { $0.catalogues = [] }
        let id = try daemon.episode().id
        // The show and the episode both have the id 1; commands on them are left out.
        for number in ExtremeNumbers.integers where number != id.rawValue {
            for command: Command in [
                .events(since: number), .act(.download, episodes: [EpisodeID(number)]),
                .act(.evict, episodes: [EpisodeID(number)]),
                .actOnUploads(.resume, ids: [TaskID(number)]), .setPlayed(episode: EpisodeID(number), true),
                .acknowledge(through: number), .search(term: "x", limit: Int(number)),
                .createTask(episode: EpisodeID(number)),
                .unsubscribe(podcast: ShowID(number)), .refresh(podcasts: [ShowID(number)]), .asset(.cover, id: number),
                .fetchShow(podcast: ShowID(number)),
            ] {
                _ = try? await client.perform(command)
            }
        }
        for number in ExtremeNumbers.integers {
            let episode = EpisodeID(number) == id ? 0 : EpisodeID(number)
            client.connection.post(.open, ReadRequest(episode: episode).payload)
            for kind: Frame.Kind in [.opened, .close] { client.connection.post(kind, WireJSON.encode(episode)) }
            for (from, to) in [(number, number), (0, number), (number, Int64.max)] {
                // The payload of a `ReadRequest`, encoded here because a Swift `Range` cannot be invalid.
                let words = [id.rawValue, number, from, to].flatMap { word in
                    withUnsafeBytes(of: word.littleEndian) { Array($0) }
                }
                client.connection.post(.read, words + [0])
            }
        }
        for seconds in [-1, 1e9, 1e300, -0x1p63] {
            #expect(await client.failure(of: .setPosition(episode: id, seconds: seconds))?.kind == .usage)
        }
        _ = try await client.tasks()
    }
}
