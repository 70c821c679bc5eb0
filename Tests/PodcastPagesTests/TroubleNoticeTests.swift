import Testing

@testable import PodcastLibrary
@testable import PodcastPages

struct TroubleNoticeTests {
    @Test func theNoticeSaysWhatIsWrongAndWhatWouldBeLost() {
        let unsaved = UnsavedEpisodes(count: 1_234, bytes: 5 << 30)
        #expect(
            TroubleNotice(.gone, of: "A Show", unsaved).text
                == "The feed is gone from its server; 1,234 episodes are only on the server (about 5.0 GiB): "
                + "podfs set 'A Show' archive=true and podfs download 'A Show' save what is left.")
        #expect(
            TroubleNotice(.certificate, of: "Show", UnsavedEpisodes(count: 1)).text
                == "The certificate of the feed's server is not valid; 1 episode is only on the server: "
                + "podfs set Show archive=true and podfs download Show save what is left.")
        #expect(
            TroubleNotice(.empty, of: "Show", UnsavedEpisodes()).text
                == "The feed has listed no episode for a month; all its episodes are on this computer.")
        #expect(
            TroubleNotice(.unauthorised, of: "Show", unsaved, isArchived: true).text
                == "The server does not let podfs read the feed; 1,234 episodes are only on the server (about 5.0 GiB): "
                + "podfs download Show saves what is left.")
    }
}
