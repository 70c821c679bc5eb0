import Foundation
import PodcastFeed
import PodcastLibrary
import PodcastProtocol
import Testing

@testable import PodcastService

/// Encoding of requests to gpodder and Nextcloud sync servers, and parsing of their responses, even malformed ones.
@Suite struct SyncMessagesTests {
    private let action = SyncAction(
        podcast: "https://a.example/feed", episode: "https://a.example/1.mp3", guid: "g", kind: .play, device: "d",
        timestamp: 1_260_608_400, started: 15, position: 120, total: 500)

    private func messages(_ kind: SyncAccount.Kind) -> SyncMessages {
        SyncMessages(
            account: SyncAccount(url: "https://s.example/sub", user: "a b/ü", device: "podfs-1", kind: kind))
    }

    @Test func addressesAreThoseOfTheDocumentation() {
        let gpodder = messages(.gpodder)
        #expect(gpodder.login == "https://s.example/sub/api/2/auth/a%20b%2F%C3%BC/login.json")
        #expect(
            gpodder.subscriptions(since: 5)
                == "https://s.example/sub/api/2/subscriptions/a%20b%2F%C3%BC/podfs-1.json?since=5")
        #expect(gpodder.episodes(since: nil) == "https://s.example/sub/api/2/episodes/a%20b%2F%C3%BC.json")
        let nextcloud = messages(.nextcloud)
        let app = "https://s.example/sub/index.php/apps/gpoddersync"
        #expect(nextcloud.subscriptions(since: 0) == app + "/subscriptions?since=0")
        #expect(nextcloud.subscriptions(since: nil) == app + "/subscription_change/create")
        #expect(nextcloud.episodes(since: 7) == app + "/episode_action?since=7")
        #expect(nextcloud.episodes(since: nil) == app + "/episode_action/create")
    }

    @Test(arguments: SyncAccount.Kind.allCases)
    func sentActionsAreReadBack(kind: SyncAccount.Kind) throws {
        let body = messages(kind).body([action])
        let list = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [[String: Any]])
        #expect(list[0]["timestamp"] as? String == "2009-12-12T09:00:00")
        let answer = "{\"timestamp\": 9, \"actions\": \(String(decoding: body, as: UTF8.self))}"
        var expected = action
        if kind == .nextcloud { expected.device = nil }
        #expect(try SyncAnswers.actions(Array(answer.utf8)).actions == [expected])
    }

    @Test func nextcloudWantsEveryNumber() throws {
        var new = action
        (new.kind, new.started, new.position, new.total) = (.new, nil, nil, nil)
        let body = String(decoding: messages(.nextcloud).body([new]), as: UTF8.self)
        #expect(body.contains("\"position\":-1") && body.contains("\"started\":-1") && body.contains("\"total\":-1"))
        #expect(!String(decoding: messages(.gpodder).body([new]), as: UTF8.self).contains("position"))
    }

    @Test(arguments: [
        ("2009-12-12T09:00:00", 1_260_608_400), ("2009-12-12T09:00:00Z", 1_260_608_400),
        ("2009-12-12T09:00:00.123456", 1_260_608_400), ("2009-12-12 09:00:00", 1_260_608_400),
        ("2009-12-12T10:00:00+01:00", 1_260_608_400), ("2009-12-12T08:30:00-0030", 1_260_608_400),
        ("2009-12-12T11:00:00+02", 1_260_608_400), ("1260608400", 1_260_608_400), ("1970-01-01T00:00:00", 0),
    ])
    func timesAreReadInAllTheirForms(text: String, seconds: Int64) {
        #expect(SyncTime.seconds(.string(Array(text.utf8))) == seconds)
    }

    @Test(arguments: [
        "", "yesterday", "2009-13-12T09:00:00", "2009-12-12", "2009-12-12T25:00:00", "٢٠٠٩-12-12T09:00:00",
    ])
    func invalidTimesAreRefused(text: String) { #expect(SyncTime.seconds(.string(Array(text.utf8))) == nil) }

    @Test func malformedActionsAreSkipped() throws {
        let body = """
            {"timestamp": "12", "actions": [null, 5, "x", [], {}, {"podcast": 5, "episode": "e", "action": "play"},
            {"podcast": "p", "episode": "e", "action": "flattr", "timestamp": "2009-12-12T09:00:00"},
            {"podcast": "p", "episode": "e", "action": "play", "timestamp": "soon"}, \(good)]}
            """
        let found = try SyncAnswers.actions(Array(body.utf8))
        #expect(found.actions == [action] && found.timestamp == 12)
        #expect(found.skipped == 8)
    }

    @Test func entriesBeyondTheLimitAreSkipped() throws {
        func list(_ entries: [String]) -> String { "[" + entries.joined(separator: ",") + "]" }
        let many = Array(repeating: "\"a\"", count: SyncAnswers.mostEntries + 2)
        let found = try SyncAnswers.subscriptions(
            Array("{\"timestamp\": 1, \"add\": \(list(["5"] + many)), \"remove\": [\"\"]}".utf8))
        #expect(found.add.count == SyncAnswers.mostEntries && found.skipped == 4)
        let old = good.replacing("120", with: "7")
        let sent = list(Array(repeating: old, count: SyncAnswers.mostEntries) + [good])
        let actions = try SyncAnswers.actions(Array("{\"timestamp\": 1, \"actions\": \(sent)}".utf8))
        #expect(actions.actions.last == action && actions.skipped == 1, "the last entries are the newest")
    }

    /// A valid action, encoded as for a gpodder server.
    private var good: String {
        String(String(decoding: messages(.gpodder).body([action]), as: UTF8.self).dropFirst().dropLast())
    }

    @Test(arguments: [
        "", "{", "[]", "5", "null", "<!DOCTYPE html><html><form>Log in</form></html>", "{\"timestamp\": null}",
        "{\"add\": [], \"remove\": []}", String(repeating: "[", count: 100_000), "\u{0}\u{1}", "{\"timestamp\": 1e999}",
        "{\"add\": [], \"actions\": [], \"timestamp\": -1}",
        "{\"add\": [], \"actions\": [], \"timestamp\": 253402300800}",
        "{\"add\": [], \"actions\": [], \"timestamp\": \"-9223372036854775808\"}",
    ])
    func malformedAnswersAreErrors(body: String) {
        #expect(throws: SyncAnswers.Malformed.self) { try SyncAnswers.subscriptions(Array(body.utf8)) }
        #expect(throws: SyncAnswers.Malformed.self) { try SyncAnswers.actions(Array(body.utf8)) }
    }

    @Test(arguments: ["<html>", "  <html>", "\u{FEFF}<html>", "\u{FEFF}\r\n<html>"])
    func aLoginPageIsNamedAsSuch(page: String) {
        let error = #expect(throws: SyncAnswers.Malformed.self) { try SyncAnswers.actions(Array(page.utf8)) }
        #expect(error?.message.contains("web page") == true)
    }

    @Test func theServersSpellingsAreRead() throws {
        let body = "{\"timestamp\": 3, \"update_urls\": [[\"a\", \"b\"], [\"c\", \"\"], [1], \"x\", [\"d\", null]]}"
        let found = try SyncAnswers.uploaded(Array(body.utf8))
        #expect(found.map { [$0.old, $0.new] } == [["a", "b"], ["c", ""]])
        #expect(try SyncAnswers.uploaded(Array(" \n".utf8)).isEmpty)
    }

    // MARK: Addresses entered by users

    @Test func copiedServerAddressesAreAccepted() throws {
        #expect(try SyncAddress("cloud.example.com", allowsHTTP: false).url == "https://cloud.example.com")
        let app = try SyncAddress("https://c.example/nc/index.php/apps/gpoddersync/", allowsHTTP: false)
        #expect(app.url == "https://c.example/nc" && app.kind == .nextcloud)
        let named = try SyncAddress("https://anna@gpodder.net/?x=1", allowsHTTP: false)
        #expect(named.url == "https://gpodder.net" && named.user == "anna" && named.kind == nil)
    }

    @Test func plainHTTPIsRefusedUnlessAllowedOrLocal() throws {
        #expect(throws: Failure.self) { try SyncAddress("http://c.example", allowsHTTP: false) }
        #expect(throws: Failure.self) { try SyncAddress("http://127.evil.example", allowsHTTP: false) }
        #expect(throws: Failure.self) { try SyncAddress("ftp://c.example", allowsHTTP: true) }
        #expect(try SyncAddress("http://c.example", allowsHTTP: true).url == "http://c.example")
        for host in ["127.0.0.1:8080", "localhost", "[::1]:9"] {
            #expect(try SyncAddress("http://\(host)", allowsHTTP: false).url == "http://\(host)")
        }
        let error = #expect(throws: Failure.self) {
            try SyncAddress("https://anna:hunter2@c.example", allowsHTTP: false)
        }
        #expect(error?.message.contains("hunter2") == false)
    }

    @Test(arguments: ["my.host.example", "", "höst name", String(repeating: "x", count: 300)])
    func devicesGetNamesThatTheAPIAllows(host: String) {
        let name = SyncAddress.device(host: host, random: 7)
        #expect(SyncAddress.isDevice(name), "\(name)")
        #expect(name != SyncAddress.device(host: host, random: 8))
    }

    // MARK: Schedule

    @Test func failuresBackOffAndRetryAfterIsObeyed() {
        let schedule = SyncSchedule(interval: .seconds(3_600), delay: .seconds(30))
        #expect(schedule.next(now: 0, random: 0) == 3_600)
        #expect(schedule.next(now: 0, failures: 1, retryAfter: nil, random: 0) == 60)
        #expect(schedule.next(now: 0, failures: 3, retryAfter: nil, random: 0) == 240)
        #expect(schedule.next(now: 0, failures: 50, retryAfter: nil, random: 1) == 3_600)
        #expect(schedule.next(now: 0, failures: 1, retryAfter: .seconds(7_000), random: 0) == 7_000)
    }

    @Test func changesAreSentTogether() {
        let schedule = SyncSchedule(interval: .seconds(3_600), delay: .seconds(30))
        #expect(schedule.due(oldest: 100, newest: 110, isComplete: true, next: 3_600) == 140)
        #expect(schedule.due(oldest: 100, newest: 399, isComplete: true, next: 3_600) == 400, "not put off for ever")
        #expect(schedule.due(oldest: 100, newest: 110, isComplete: false, next: 3_600) == 3_600)
    }
}
