import Platform
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastFeed
@testable import PodcastLibrary

/// Decisions about the files of other podcast programs.
struct AdoptionMatcherTests {
    private static let show = Subscription(
        podcast: 1, name: "Hard Fork & Friends", url: "https://example.com/feed.xml", title: "Hard Fork & Friends")
    private static let other = Subscription(
        podcast: 2, name: "Owls", url: "https://example.org/feed.xml", title: "Owls")
    private static let folder = "Hard Fork & Friends"

    private func episode(
        _ id: EpisodeID, _ title: String, url: String? = nil, show: ShowID = 1, published: Int64? = noon,
        size: Int64? = nil,
        confirmed: Int64? = nil, duration: Double? = nil, name: String? = nil, guid: String? = nil,
        isComplete: Bool = false
    ) -> EpisodeSummary {
        let size = EpisodeSize(confirmed: confirmed, length: size, duration: nil, type: nil, name: "")
        return EpisodeSummary(
            id: id, name: name ?? "2026-11-20 \(FileName.stem(title)).mp3", title: title, published: published,
            duration: duration, size: size.bytes, sizeSource: size.source, complete: isComplete, podcast: show,
            guid: guid, url: url ?? "https://cdn.example.com/a/\(id.rawValue)/media.mp3")
    }

    private func file(
        _ path: String, in folders: [String] = ["Downloads", folder], size: Int64 = 1_000_000,
        tags: MediaTags = MediaTags(), format: MediaFormat? = .mpegAudio, record: ForeignRecord? = nil
    ) -> AdoptableFile {
        AdoptableFile(path: path, folders: folders, size: size, format: format, tags: tags, record: record)
    }

    private func decide(
        _ file: AdoptableFile, _ episodes: [EpisodeSummary], only: ShowID? = nil, localOffset: Int = 0
    ) -> AdoptionDecision {
        AdoptionMatcher(shows: [Self.show, Self.other], episodes: episodes, only: only, localOffset: localOffset)
            .decisions(about: [file])[0]
    }

    private func adopted(_ decision: AdoptionDecision) -> EpisodeID? {
        if case .adopt(let episode, _) = decision { episode } else { nil }
    }

    private func contradicted(_ decision: AdoptionDecision) -> EpisodeID? {
        if case .contradicted(let episode, _, _) = decision { episode } else { nil }
    }

    // MARK: Names of programs

    @Test(arguments: [
        // gPodder and castget: the name in the URL; podget: with its escapes; wget: with the query.
        "first-flight_01.mp3", "first%2Dflight_01.mp3", "first-flight_01.mp3?token=abc&x=1",
        // AntennaPod: the title in ASCII; yt-dlp: title and id, or with the uploader before it.
        "The Cafe What flies Part 2.mp3", "The Café： What flies？ Part 2 [first-flight_01].mp3",
        "Hard Fork & Friends - The Café： What flies？ Part 2.mp3",
        // With the date that programs put before or after.
        "2026-11-20 The Café_ What flies_ Part 2.mp3", "20261120_first-flight_01.mp3",
        "The Café - What flies - Part 2 (2026-11-20).mp3",
    ]) func aNameOfAnyProgramIsRecognized(name: String) {
        let episodes = [
            episode(1, "The Café: What flies? Part 1", url: "https://e.com/x/first-flight_00.mp3?token=1"),
            episode(2, "The Café: What flies? Part 2", url: "https://e.com/x/first-flight_01.mp3?token=2"),
        ]
        #expect(adopted(decide(file(name), episodes)) == 2)
    }

    @Test func theExplanationNamesTheEvidence() {
        let episodes = [episode(1, "Wings", url: "https://e.com/wings-001.mp3", size: 1_000_000)]
        #expect(
            decide(file("wings-001.mp3"), episodes)
                == .adopt(
                    1,
                    .init(
                        isCertain: true, evidence: "exact size in the feed, file name in the feed, folder of the show"))
        )
        #expect(
            decide(file("Wings.mp3", size: 5), episodes)
                == .adopt(1, .init(isCertain: false, evidence: "title, folder of the show")))
    }

    @Test func aNameAfterTheShowAndTheDateAloneIsTheEpisodeOfThatDay() {
        let episodes = [episode(1, "Wings"), episode(2, "Beaks", published: noon + day)]
        #expect(adopted(decide(file("Hard Fork & Friends 2026-11-21.mp3", in: ["x"]), episodes)) == 2)
        #expect(adopted(decide(file("2026-11-20.mp3"), episodes)) == 1)
        // Two episodes of one day.
        let both = episodes + [episode(3, "Claws", published: noon + 60)]
        #expect(adopted(decide(file("2026-11-20.mp3"), both)) == nil)
    }

    @Test func aTitleThatAProgramHasCutIsRecognizedIfOnlyOneBeginsSo() {
        let long = String(repeating: "Something very long about owls and forks ", count: 4)
        let cut = String(long.prefix(120))
        let hash = String(repeating: "0a", count: 16)
        #expect(adopted(decide(file("\(cut).mp3"), [episode(1, long + "one")])) == 1)
        #expect(adopted(decide(file("\(cut)_\(hash).mp3"), [episode(1, long + "one")])) == 1)
        #expect(adopted(decide(file("\(cut).mp3"), [episode(1, long + "one"), episode(2, long + "two")])) == nil)
    }

    // MARK: Numbers

    @Test func numbersAreComparedOnTheirOwn() {
        #expect(adopted(decide(file("Episode 15.mp3"), [episode(1, "Episode 1.5")])) == nil)
        let both = [episode(1, "Episode 1.5"), episode(2, "Episode 15")]
        #expect(adopted(decide(file("Episode 1.5.mp3"), both)) == 1)
        #expect(adopted(decide(file("Episode 15.mp3"), both)) == nil)
        #expect(adopted(decide(file("03022022 News.mp3"), [episode(1, "03.02.2022 – News")])) == 1)
        #expect(adopted(decide(file("10000 owls.mp3"), [episode(1, "10,000 owls")])) == 1)
        #expect(adopted(decide(file("Open 24_7.mp3"), [episode(1, "Open 24/7")])) == 1)
    }

    @Test func digitsAfterADateMayBeATimeOrBeginTheName() {
        let race = [episode(1, "Six hours of Bathurst", url: "https://a.example/2026_bathurst_r1.mp3")]
        #expect(adopted(decide(file("2026-11-20_2026_bathurst_r1.mp3", size: 5), race)) == 1)
        #expect(adopted(decide(file("20261120_0800_Owls at night.mp3", size: 5), [episode(1, "Owls at night")])) == 1)
    }

    @Test func aCounterOrTrackNumberNeedsFurtherEvidence() {
        let episodes = [episode(1, "Mailbag", size: 1_000_000), episode(2, "Wings", size: 2_000_000)]
        #expect(adopted(decide(file("Mailbag (2).mp3", size: 77), episodes)) == nil)
        #expect(adopted(decide(file("3 - Mailbag.mp3", size: 77), episodes)) == nil)
        #expect(adopted(decide(file("Mailbag (2).mp3"), episodes)) == 1)
    }

    // MARK: What is not adopted

    @Test func equalTitlesNeedADateOrASize() {
        let episodes = [
            episode(1, "News", size: 1_000_000), episode(2, "News", published: noon + day, size: 2_000_000),
        ]
        #expect(decide(file("News.mp3", size: 5), episodes).rivals == [1, 2])
        #expect(adopted(decide(file("2026-11-21 News.mp3", size: 5), episodes)) == 2)
        #expect(adopted(decide(file("News.mp3"), episodes)) == 1)
        // The size says nothing if that of the other one is not known.
        #expect(adopted(decide(file("News.mp3"), [episodes[0], episode(2, "News", published: noon + day)])) == nil)
    }

    /// The library may have lost the other episode of this title.
    @Test func filesOfOneNameNeedADateOrASize() {
        let episodes = [episode(1, "News", size: 1_000_000), episode(2, "Wings")]
        let matcher = AdoptionMatcher(shows: [Self.show], episodes: episodes)
        func adopted(_ files: AdoptableFile...) -> [EpisodeID?] {
            matcher.decisions(about: files).map { self.adopted($0) }
        }
        #expect(adopted(file("News.mp3", size: 5), file("News-1.mp3", size: 6)) == [nil, nil])
        #expect(adopted(file("2026-11-20 News.mp3", size: 5), file("2026-11-20 News_1.mp3", size: 6)) == [nil, nil])
        #expect(adopted(file("News.mp3", size: 5), file("News (2).mp3")) == [nil, 1])
        #expect(adopted(file("2026-11-20 News.mp3", size: 5), file("News-1.mp3", size: 6)) == [1, nil])
        // A copy, or a file of another folder.
        #expect(adopted(file("News.mp3", size: 5), file("News (2).mp3", size: 5)) == [1, nil])
        #expect(adopted(file("News.mp3", size: 5), file("News-1.mp3", in: ["x"], size: 6)) == [1, nil])
        #expect(adopted(file("News.mp3", size: 5), file("Wings.mp3", size: 6)) == [1, 2])
    }

    /// Another program may have given the other episode the same name.
    @Test func aNameInPodfsThatIsDateAndTitleDecidesNothing() {
        let twice = [
            episode(1, "News", name: "2026-11-20 News.mp3"), episode(2, "News", name: "2026-11-20 News (2).mp3"),
        ]
        #expect(adopted(decide(file("2026-11-20 News.mp3", size: 5), twice)) == nil)
        #expect(adopted(decide(file("S01E07 News.mp3", size: 5), [episode(1, "Gnus", name: "S01E07 News.mp3")])) == 1)
    }

    @Test func titlesThatDifferInCaseAreTwo() {
        let one = episode(1, "Roar before the 24: Sunday", size: 1_000_000)
        let other = episode(2, "Roar Before the 24: Sunday", published: noon + day, size: 2_000_000)
        for name in ["Roar Before the 24_ Sunday.mp3", "2026-11-21 Roar Before the 24 Sunday.mp3"] {
            #expect(adopted(decide(file(name, size: 5), [one, other])) == 2, "\(name)")
            #expect(adopted(decide(file(name, size: 5), [one])) == nil, "\(name)")
        }
        // A program that writes only lower case, and a publisher who has corrected the title.
        #expect(adopted(decide(file("roar-before-the-24-sunday.mp3", size: 5), [one])) == 1)
        #expect(adopted(decide(file("Roar Before the 24 Sunday.mp3"), [one])) == 1)
    }

    @Test func anotherDateContradicts() {
        let decision = decide(file("2026-11-23 Wings.mp3"), [episode(1, "Wings")])
        #expect(
            decision
                == .contradicted(
                    1, evidence: "title, folder of the show",
                    contradiction: "the date in its name is 2026-11-23, the episode's is 2026-11-20"))
        // Programs write the day in the zone of the feed, of this machine, or UTC.
        let late = episode(1, "Wings", published: noon + 11 * 3_600 + 1_800)
        #expect(adopted(decide(file("2026-11-21 Wings.mp3"), [late])) == nil)
        #expect(adopted(decide(file("2026-11-21 Wings.mp3"), [late], localOffset: 3_600)) == 1)
        // A date in the title is not the date of the file.
        #expect(adopted(decide(file("Recap of 2019-01-01.mp3"), [episode(1, "Recap of 2019-01-01")])) == 1)
    }

    @Test func anotherSizeThanTheServersContradicts() {
        let episodes = [episode(1, "Wings", confirmed: 20_000_000)]
        for size: Int64 in [20_000_000, 19_990_000, 20_900_000] {
            #expect(adopted(decide(file("Wings.mp3", size: size), episodes)) == 1, "\(size)")
        }
        for size: Int64 in [12_000_000, 19_000_000, 30_000_000] {
            #expect(contradicted(decide(file("Wings.mp3", size: size), episodes)) == 1, "\(size)")
        }
        // What the feed says of the size is often wrong.
        #expect(adopted(decide(file("Wings.mp3", size: 77), [episode(1, "Wings", size: 20_000_000)])) == 1)
    }

    @Test func theFolderOfAnotherShowContradicts() {
        let episodes = [episode(1, "A long title that is unique", url: "https://e.com/a-long-file-name.mp3")]
        #expect(adopted(decide(file("A long title that is unique.mp3", in: ["Downloads"]), episodes)) == 1)
        #expect(adopted(decide(file("A long title that is unique.mp3", in: ["Downloads", "Owls"]), episodes)) == nil)
        #expect(
            adopted(decide(file("A long title that is unique.mp3", in: ["Owls"], tags: MediaTags()), episodes, only: 1))
                == 1)
    }

    @Test func aShortNameWithoutTheShowIsNotEnough() {
        let episodes = [episode(1, "Wings", url: "https://e.com/ep12.mp3")]
        for name in ["Wings.mp3", "ep12.mp3"] {
            #expect(decide(file(name, in: ["Downloads"]), episodes).isWeak, "\(name)")
            #expect(adopted(decide(file(name, in: ["Downloads"]), episodes, only: 1)) == 1)
        }
        #expect(decide(file("Unrelated.mp3", in: ["Downloads"]), episodes) == .unknown)
    }

    @Test func anEqualSizeAloneIsNotEnough() {
        // A show of constant length has many files of one size; that of the others is not known.
        let unknown = [episode(1, "Wings", confirmed: 1_000_000), episode(2, "Beaks")]
        #expect(adopted(decide(file("track.mp3"), unknown)) == nil)
        let known = [episode(1, "Wings", confirmed: 1_000_000), episode(2, "Beaks", confirmed: 1_000_001)]
        #expect(adopted(decide(file("track.mp3"), known)) == 1)
        // The name says another episode than the size.
        #expect(adopted(decide(file("Beaks.mp3"), known)) == nil)
    }

    @Test func anotherFormatContradicts() {
        let episodes = [episode(1, "Wings")]
        #expect(adopted(decide(file("Wings.opus", format: .ogg), episodes)) == nil)
        #expect(adopted(decide(file("Wings.mp4", format: .isoMedia), episodes)) == nil)
        // A server that delivers M4A under this name is believed.
        #expect(adopted(decide(file("Wings.mp3", format: .isoMedia), episodes)) == 1)
        let video = [episode(1, "Wings", name: "Wings.m4v")]
        #expect(adopted(decide(file("Wings.m4a", format: .isoMedia), video)) == nil)
        #expect(adopted(decide(file("Wings.mp4", format: .isoMedia), video)) == 1)
    }

    @Test func anIncompleteFileAndACompleteEpisodeAreNotAdopted() {
        #expect(decide(file("Wings.mp3"), [episode(1, "Wings", isComplete: true)]) == .present(1))
        let cut = file("Wings.mp3", tags: MediaTags(isTruncated: true))
        #expect(decide(cut, [episode(1, "Wings")]).isUnusable)
    }

    @Test func anotherSizeContradictsIfTheFeedIsRightElsewhere() {
        let episodes = (1...11).map { episode(EpisodeID(Int64($0)), "Race \($0)", size: Int64($0) * 1_000_000) }
        var files = (1...10).map { file("Race \($0).mp3", size: Int64($0) * 1_000_000) }
        files.append(file("Race 11.mp3", size: 5_500_000))
        let matcher = AdoptionMatcher(shows: [Self.show], episodes: episodes)
        let decisions = matcher.decisions(about: files)
        #expect(decisions.prefix(10).allSatisfy { adopted($0) != nil })
        #expect(contradicted(decisions[10]) == 11)
        #expect(adopted(matcher.decisions(about: [files[10]])[0]) == 11)
        // A little is enough if the title is all there is.
        files[10].size = 11_000_100
        #expect(adopted(matcher.decisions(about: files)[10]) == nil)
        files[10].path = "2026-11-20 Race 11.mp3"
        #expect(adopted(matcher.decisions(about: files)[10]) == 11)
    }

    @Test func aWordInBracketsBelongsToTheTitleUnlessItIsTheNameInTheFeed() {
        #expect(adopted(decide(file("Wings [bonus].mp3"), [episode(1, "Wings")])) == nil)
        let hosted = (1...100).map {
            episode(EpisodeID(Int64($0)), "Story \($0)", url: "https://e.com/\($0)/media.mp3")
        }
        #expect(adopted(decide(file("Story 7 [media].mp3"), hosted)) == 7)
        #expect(adopted(decide(file("media (3).mp3"), hosted)) == nil)
        #expect(adopted(decide(file("Who flies?.mp3"), [episode(1, "Who flies?")])) == 1)
    }

    // MARK: Tags and databases

    @Test func tagsAreEvidence() {
        let episodes = [episode(1, "Wings", guid: "g1"), episode(2, "Beaks", guid: "g2")]
        let track = { (tags: MediaTags) in self.file("track-7.mp3", in: ["Downloads"], tags: tags) }
        #expect(adopted(decide(track(MediaTags(title: "Beaks", album: "Hard Fork and Friends")), episodes)) == nil)
        #expect(adopted(decide(track(MediaTags(title: "Beaks", album: "Hard Fork & Friends")), episodes)) == 2)
        #expect(adopted(decide(track(MediaTags(title: "Beaks")), episodes)) == nil)
        #expect(adopted(decide(track(MediaTags(identifier: "g2")), episodes)) == 2)
        // The tag says another episode than the name.
        #expect(adopted(decide(file("Wings.mp3", tags: MediaTags(title: "Beaks")), episodes)) == nil)
        #expect(adopted(decide(file("Wings.mp3", tags: MediaTags(title: "My notes")), episodes)) == 1)
    }

    @Test func theDatabaseOfTheProgramDecides() {
        let episodes = [episode(1, "Wings", guid: "1"), episode(2, "Beaks", show: 2, guid: "1")]
        let record = ForeignRecord(
            program: "gPodder", feed: "http://example.org/feed.xml", guid: "1", url: "https://gone.example.com/1.mp3")
        #expect(adopted(decide(file("xyz.mp3", in: ["a"], record: record), episodes)) == 2)
    }

    // MARK: Several files

    @Test func ofTwoFilesOfAnEpisodeTheBetterOneIsAdopted() {
        let episodes = [episode(1, "Wings", url: "https://e.com/wings-001.mp3", size: 1_000_000)]
        let matcher = AdoptionMatcher(shows: [Self.show], episodes: episodes)
        let decisions = matcher.decisions(about: [
            file("a/Wings.mp3", size: 999_990), file("b/wings-001.mp3"), file("c/wings-001.mp3", size: 5),
        ])
        #expect(adopted(decisions[1]) == 1)
        #expect(decisions[0] == .duplicate(1, of: "b/wings-001.mp3"))
        #expect(decisions[2] == .duplicate(1, of: "b/wings-001.mp3"))
    }

    @Test func twoEpisodesWithOneURLAreAmbiguous() {
        let episodes = ["One", "Two"].enumerated().map {
            episode(EpisodeID(Int64($0) + 1), $1, url: "https://e.com/long-name-of-file.mp3")
        }
        #expect(adopted(decide(file("long-name-of-file.mp3"), episodes)) == nil)
        #expect(adopted(decide(file("Two [long-name-of-file].mp3"), episodes)) == 2)
    }
}

extension AdoptionDecision {
    fileprivate var isUnusable: Bool { if case .unusable = self { true } else { false } }
    fileprivate var isWeak: Bool { if case .weak = self { true } else { false } }
    fileprivate var rivals: Set<EpisodeID> { if case .ambiguous(let ids, _) = self { Set(ids) } else { [] } }
}
