import Testing

@testable import PodcastLibrary
@testable import PodcastPages

struct TroubleNoticeTests {
    @Test func theNoticeSaysWhatIsWrongAndWhatWouldBeLost() {
        let unsaved = UnsavedEpisodes(count: 1_234, bytes: 5 << 30)
        #expect(
            TroubleNotice(trouble: .gone, unsaved: unsaved, show: "A Show").text
                == "The feed is gone from its server; 1,234 episodes are only on the server (about 5.0 GiB): "
                + "podfs set 'A Show' archive=true and podfs download 'A Show' save what is left.")
        #expect(
            TroubleNotice(trouble: .certificate, unsaved: UnsavedEpisodes(count: 1), show: "Show").text
                == "The certificate of the feed's server is not valid; 1 episode is only on the server: "
                + "podfs set Show archive=true and podfs download Show save what is left.")
        #expect(
            TroubleNotice(trouble: .empty, unsaved: UnsavedEpisodes(), show: "Show").text
                == "The feed has listed no episode for a month; all its episodes are on this computer.")
        #expect(
            TroubleNotice(trouble: .unauthorised, unsaved: unsaved, show: "Show", isArchived: true).text
                == "The server does not let podfs read the feed; 1,234 episodes are only on the server (about 5.0 GiB): "
                + "podfs download Show saves what is left.")
    }
}
