import PodcastProtocol
import Testing
import Transfers

@Suite struct ReadMessageTests {
    private func present(_ ranges: Range<Int64>...) -> ByteRanges {
        var result = ByteRanges()
        for range in ranges { result.insert(contentsOf: range) }
        return result
    }

    @Test func readRequestsAreReadBack() {
        let requests = [
            ReadRequest(episode: 1, generation: 0, range: 0..<0),
            ReadRequest(episode: 1, generation: 2, range: 3..<4, takesHead: true),
            ReadRequest(episode: 1, generation: 2, range: 3..<4, takesHead: true, kind: .probe),
            ReadRequest(episode: EpisodeID(.max), generation: 262_143, range: 5..<Int64.max),
        ]
        for request in requests { #expect(ReadRequest(payload: request.payload) == request) }
    }

    @Test func grantsAreReadBack() {
        let grants = [
            Grant(generation: 1, total: nil, file: nil, present: present()),
            Grant(generation: 2, total: 0, file: "ab12", present: present()),
            Grant(generation: 2, total: 7, file: nil, present: present(), head: [0, 1, 255]),
            Grant(generation: 3, total: 1 << 40, file: "ü", present: present(0..<1, 4..<4_096, 8_192..<(1 << 40))),
        ]
        for grant in grants { #expect(Grant(payload: grant.payload) == grant) }
    }

    @Test func referencesAreReadBack() {
        #expect(EpisodeID(payload: EpisodeID(-3).payload) == -3)
    }

    @Test func failuresAreReadBack() {
        let failures = [
            Failure(message: ""), Failure(kind: .usage, errorNumber: 22, message: "no such show: “x”\u{0}"),
            Failure(kind: .refused, errorNumber: -1, message: "no"),
        ]
        for failure in failures {
            #expect(Failure(payload: failure.payload) == failure)
            #expect(failure.description == failure.message)
        }
    }

    @Test func anyShorterPayloadIsRefused() {
        let read = ReadRequest(episode: 1, generation: 1, range: 0..<9).payload
        for count in 0..<read.count { #expect(ReadRequest(payload: Array(read.prefix(count))) == nil) }
        let grant = Grant(generation: 1, total: 9, file: "name", present: present(0..<4, 6..<9)).payload
        for count in 0..<grant.count { #expect(Grant(payload: Array(grant.prefix(count))) == nil) }
        let failure = Failure(message: "broken").payload
        for count in 0..<failure.count { #expect(Failure(payload: Array(failure.prefix(count))) == nil) }
        let reference = EpisodeID(1).payload
        for count in 0..<reference.count { #expect(EpisodeID(payload: Array(reference.prefix(count))) == nil) }
    }

    @Test func invalidRangesAreRejected() {
        var request = ReadRequest(episode: 1, generation: 1, range: 5..<9).payload
        request[16] = 10  // The lower bound, beyond the upper one.
        #expect(ReadRequest(payload: request) == nil)
        request[23] = 0x80  // The lower bound becomes negative.
        #expect(ReadRequest(payload: request) == nil)
        var grant = Grant(generation: 1, total: nil, file: nil, present: present(5..<9)).payload
        // The payload ends with the bounds of the range (8 bytes each) and the length of the head (4 bytes).
        grant[grant.count - 20] = 10
        #expect(Grant(payload: grant) == nil)
    }

    /// The payload ends with the number of ranges and the length of the head, 4 bytes each.
    @Test(arguments: [4, 8]) func aFalseRangeCountOrLengthIsRefused(distance: Int) {
        var grant = Grant(generation: 1, total: nil, file: nil, present: present()).payload
        let start = grant.count - distance
        for index in start..<start + 4 { grant[index] = 0xFF }
        #expect(Grant(payload: grant) == nil)
    }

    @Test func anUnknownKindOfFailureIsRefused() {
        var failure = Failure(message: "broken").payload
        failure[0] = 2
        #expect(Failure(payload: failure) == nil)
    }
}

@Suite struct JSONMessageTests {
    private func roundTrip<Value: Codable & Equatable>(_ value: Value) -> Bool {
        WireJSON.decode(Value.self, WireJSON.encode(value)) == value
    }

    @Test func greetingsAreReadBack() {
        #expect(
            roundTrip(
                Hello(protocolVersion: 1, schema: 3, library: "/a/ü", cache: "/b", role: .mount, pid: 9)))
        #expect(
            roundTrip(
                Welcome(protocolVersion: 1, schema: 3, library: "/a", cache: "/b", version: "0.1", pid: 9)))
    }

    @Test func commandsAreReadBack() {
        let commands: [Command] =
            [
                .subscribe(url: "https://example.org/feed?a=1&b=\"2\"", name: nil), .subscribe(url: "x", name: "Ä / b"),
                .unsubscribe(podcast: 1), .refresh(podcasts: []), .refresh(podcasts: [1, ShowID(.max)]),
                .rename(podcast: nil, episode: 4, name: "new"), .rename(podcast: 4, episode: nil, name: "new"),
                .inspect(url: "file:///x"), .tasks, .setPlayed(episode: 1, true),
                .setPosition(episode: 1, seconds: 0.1),
                .watch, .leave, .search(term: "ä b", limit: 5), .searchFolder(term: "ä / b"), .fetchShow(podcast: 7),
            ] + TaskAction.allCases.map { .act($0, episodes: [1, 2]) }
        for command in commands { #expect(roundTrip(command), "\(command)") }
    }

    @Test func repliesAreReadBack() {
        let task = TaskInfo(
            id: 1, kind: .artwork, path: "Show/Episode.mp3", episode: 3, state: .running, received: 1, expected: nil,
            rate: 0.5, error: nil, started: 1_700_000_000)
        let replies: [Reply] = [
            .done, .subscribed(name: "Show", episodes: 3, skipped: 1), .tasks([task]), .tasks([]), .text("a\nb"),
            .refreshed([RefreshResult(name: "a", added: 1), RefreshResult(name: "b", added: 0, error: "no")]),
            .acted(count: 2, problems: ["x: y"]), .found([], problems: ["x: no"]),
            .found(
                [
                    FoundShow(title: "a", url: "b"),
                    FoundShow(
                        title: "a", author: "b", url: "c", artwork: "d", episodes: 1, link: "e", subscribed: "f"),
                ], problems: []),
            .foundFolders([FoundFolder(podcast: 5, name: "Ä")]), .foundFolders([]),
        ]
        for reply in replies { #expect(roundTrip(reply), "\(reply)") }
    }

    /// `podfs events --json` and `.status.json` contain these words.
    @Test func statesAndKindsOfTasksAreWords() throws {
        #expect(
            [TaskState.remote, .queued, .running, .suspended, .cached, .failed, .completed, .cancelled, .stream]
                .map(\.rawValue) == [
                    "remote", "queued", "running", "suspended", "cached", "failed", "completed", "cancelled", "stream",
                ])
        #expect(
            [Event.Kind.progress, .completed, .failed, .state, .library, .listening, .idle].map(\.rawValue)
                == ["progress", "completed", "failed", "state", "library", "listening", "idle"])
        #expect(
            [TaskInfo.Kind.download, .refresh, .search, .artwork, .transcript, .upload].map(\.rawValue)
                == ["download", "refresh", "search", "artwork", "transcript", "upload"])
    }

    @Test(arguments: ["paused", "chapter", "7"]) func aWordOfAnotherVersionIsRefused(word: String) throws {
        let event = String(
            decoding: WireJSON.encode(Event(sequence: 1, time: 2, .state(TaskInfo(id: 0, state: .running)))),
            as: UTF8.self)
        #expect(WireJSON.decode(Event.self, Array(event.utf8)) != nil)
        for known in ["running", "download"] {
            let other = event.replacing("\"\(known)\"", with: "\"\(word)\"")
            #expect(other != event && WireJSON.decode(Event.self, Array(other.utf8)) == nil)
        }
    }

    @Test func eventsAreReadBack() {
        for body in [.idle, .episode(4, formerName: "Old.mp3"), .show(5, name: "New", formerName: "Old")]
            as [Event.Body]
        {
            #expect(roundTrip(Event(sequence: 1, time: 2, body)))
        }
        var report = TaskInfo(id: 1, state: .running)
        report.kind = .upload
        report.episode = 2
        report.show = 3
        report.generation = 4
        report.path = "Show/Episode"
        report.received = 5
        report.expected = 6
        report.rate = 7.5
        report.ranges = "0-4"
        report.session = "podfs"
        report.error = "none"
        report.waitsForSpace = true
        for body in [.progress(report), .state(report), .completed(report), .failed(report)] as [Event.Body] {
            #expect(roundTrip(Event(sequence: .max, time: 1_700_000_000, body)))
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{\"fly\":{}}", "{\"tasks\":{},\"leave\":{}}", "{\"act\":{\"_0\":\"fly\"}}",
    ])
    func malformedCommandsAreRefused(text: String) {
        #expect(WireJSON.decode(Command.self, Array(text.utf8)) == nil)
    }
}
