import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary
@testable import PodcastService

/// The rules that select episodes for automatic downloads, and the reasons that `podfs list` prints.
struct AutoDownloadRulesTests {
    private static let now: Int64 = 86_400_000

    /// Returns one episode for each change, with the change applied. They were published on consecutive days, the
    /// oldest first, and have the ids 1, 2, 3 ….
    private func episodes(_ changes: [(inout RetainedEpisode) -> Void]) -> [RetainedEpisode] {
        changes.enumerated().map { index, change in
            var episode = RetainedEpisode(
                id: EpisodeID(Int64(index + 1)), moment: Self.now - Int64(changes.count - index) * 86_400,
                title: "Part \(index + 1)", duration: Double(index + 1) * 600)
            change(&episode)
            return episode
        }
    }

    private func plan(
        _ episodes: [RetainedEpisode], _ count: Int, _ assignments: [String], keep: Keep = .all
    ) throws -> AutoDownload {
        var stored: [String: String] = [:]
        for assignment in assignments {
            let change = try ShowSettingChange(assignment)
            stored[change.key.rawValue] = change.value
        }
        let rules = ShowSettings(stored: stored).autoDownloadRules
        return AutoDownload(episodes.shuffled(), newest: count, rules: rules, keep: keep, now: Self.now)
    }

    private func none(_: inout RetainedEpisode) {}

    @Test func aSerialContinuesAfterTheLastPlayedEpisode() throws {
        let order = ["auto_download_order=oldest_unplayed"]
        // No episode was played: downloads begin with the oldest.
        #expect(try plan(episodes([none, none, none]), 2, order).enqueue == [2, 1])
        let heard = episodes([{ $0.played = true }, none, { $0.played = true }, none, none, none])
        let next = try plan(heard, 2, order)
        #expect(next.enqueue == [5, 4])
        #expect(
            next.reasons == [1: .played, 2: .olderThanHeard, 3: .played, 4: .wanted, 5: .wanted, 6: .beyond])
        // Downloads begin with the episode in progress.
        let begun = episodes([none, { $0.position = 100 }, none, none])
        #expect(try plan(begun, 2, order).enqueue == [3, 2])
        // An automatically downloaded episode is evicted once it is played.
        let done = episodes([{ ($0.played, $0.complete, $0.isAutomatic) = (true, true, true) }, none, none])
        let after = try plan(done, 1, order)
        #expect(after.enqueue == [2] && after.evict == [1])
    }

    @Test(
        arguments: [
            (["auto_download_title=part [12]$"], [2, 1], [3: .title, 4: .type]),
            (["auto_download_min_duration=25m"], [3], [1: .duration, 2: .duration, 4: .type]),
            (["auto_download_max_duration=20 min"], [2, 1], [3: .duration, 4: .type]),
            (["auto_download_types=bonus, Trailer"], [4], [1: .type, 2: .type, 3: .type]),
            (["auto_download_types=full,bonus", "auto_download_title=[34]"], [4, 3], [1: .title, 2: .title]),
            ([], [3, 2], [1: .beyond, 4: .type]),
        ] as [([String], [EpisodeID], [EpisodeID: AutoDownload.Reason])])
    func rulesSelect(
        _ assignments: [String], _ enqueued: [EpisodeID], _ reasons: [EpisodeID: AutoDownload.Reason]
    ) throws {
        let plan = try plan(episodes([none, none, none, { $0.type = "bonus" }]), 2, assignments)
        #expect(plan.enqueue == enqueued)
        #expect(plan.reasons.filter { $0.value != .wanted } == reasons)
    }

    @Test func everyEpisodeHasAReason() throws {
        let all = episodes([
            none, { $0.listed = false }, { $0.isDeclined = true }, { $0.isMediaGone = true }, { $0.complete = true },
            { $0.duration = nil }, { $0.played = true },
        ])
        #expect(try plan(all, 0, []).reasons.values.allSatisfy { $0 == .off || $0 == .cached })
        let found = try plan(all, 9, ["auto_download_max_duration=2h"], keep: .episodes(6)).reasons
        #expect(
            found == [1: .keep, 2: .notListed, 3: .declined, 4: .gone, 5: .cached, 6: .duration, 7: .played])
    }

    @Test func aShowsRulesTakePrecedenceOverTheGeneralOnes() throws {
        var general = AutoDownloadRules()
        try general.set(.autoDownloadTitle, Assignment(key: "", value: "a"))
        try general.set(.autoDownloadOrder, Assignment(key: "", value: "newest"))
        var own = AutoDownloadRules()
        try own.set(.autoDownloadOrder, Assignment(key: "", value: "oldest_unplayed"))
        let both = own.completed(by: general)
        #expect(both.order == .oldestUnplayed && both.title?.text == "a" && both.types == nil)
    }

    @Test(arguments: [
        ("auto_download_order=random", "cannot be set: expected one of newest, oldest_unplayed"),
        ("auto_download_title=(", "is not a regular expression: missing closing parenthesis at offset 1"),
        ("auto_download_min_duration=10", "cannot be set: expected \(DurationText.forms)"),
        ("auto_download_types=full,other", "cannot be set: expected a list of full, trailer and bonus"),
        ("auto_download_types=,", "cannot be set: expected a list of full, trailer and bonus"),
    ])
    func badRulesAreRefused(_ assignment: String, _ reason: String) {
        let parts = assignment.split(separator: "=", maxSplits: 1)
        #expect(ShowSettingChange.refusal(of: assignment) == "\(parts[0])='\(parts[1])' \(reason)")
    }
}
