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

    @Test func anyShorterPayloadIsRefused() {
        let read = ReadRequest(episode: 1, generation: 1, range: 0..<9).payload
        for count in 0..<read.count { #expect(ReadRequest(payload: Array(read.prefix(count))) == nil) }
        let grant = Grant(generation: 1, total: 9, file: "name", present: present(0..<4, 6..<9)).payload
        for count in 0..<grant.count { #expect(Grant(payload: Array(grant.prefix(count))) == nil) }
    }

    /// The payload ends with the number of ranges and the length of the head, 4 bytes each.
    @Test(arguments: [4, 8]) func aFalseRangeCountOrLengthIsRefused(distance: Int) {
        var grant = Grant(generation: 1, total: nil, file: nil, present: present()).payload
        let start = grant.count - distance
        for index in start..<start + 4 { grant[index] = 0xFF }
        #expect(Grant(payload: grant) == nil)
    }
}

@Suite struct JSONMessageTests {
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

    @Test(arguments: [
        "", "{", "null", "[]", "{\"fly\":{}}", "{\"tasks\":{},\"leave\":{}}", "{\"act\":{\"_0\":\"fly\"}}",
    ])
    func malformedCommandsAreRefused(text: String) {
        #expect(WireJSON.decode(Command.self, Array(text.utf8)) == nil)
    }
}
