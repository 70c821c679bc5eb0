import Testing

@testable import PodcastService

struct AnsweringHostsTests {
    private var hosts = AnsweringHosts()
    private let day: Int64 = 86_400

    @Test mutating func theNetworkIsThereIfAnotherHostHasAnswered() {
        #expect(!hosts.hasOther(than: "a", at: 5))
        hosts.answered("a", at: 5)
        #expect(!hosts.hasOther(than: "a", at: 6))
        #expect(hosts.hasOther(than: "b", at: 6))
        hosts.answered("b", at: 7)
        hosts.answered("b", at: 8)
        #expect(hosts.hasOther(than: "a", at: 9) && hosts.hasOther(than: "b", at: 9))
        hosts.answered("c", at: 9)
        #expect(hosts.hasOther(than: "c", at: 9) && hosts.hasOther(than: "b", at: 9))
    }

    @Test mutating func anAnswerOfYesterdayOrOfTomorrowCountsNoMore() {
        hosts.answered("a", at: 10)
        #expect(hosts.hasOther(than: "b", at: 9 + day))
        #expect(!hosts.hasOther(than: "b", at: 10 + day))
        #expect(!hosts.hasOther(than: "b", at: 9))
    }
}
