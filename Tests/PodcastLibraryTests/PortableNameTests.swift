import PodcastFeed
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastLibrary

/// Names for FAT, exFAT, NTFS and Samba, and the renaming of existing episodes.
struct PortableNameTests {
    private var (folder, library) = makeLibrary()

    @Test(arguments: [
        ("Plain name", "Plain name"), ("Part 1: The start", "Part 1 - The start"), ("12:30", "12-30"),
        ("Opus & friends: \"quoted\"?", "Opus & friends - 'quoted'"), ("a\\b|c*d", "a-b-cd"), ("<tag>", "(tag)"),
        ("What?!", "What!"), ("Ends with dots...", "Ends with dots"), ("Ends . .", "Ends"), ("???", "Untitled"),
        ("CON", "CON_"), ("nul", "nul_"), ("com1.part two", "com1_.part two"), ("LPT\u{B9}", "LPT\u{B9}_"),
        ("Console", "Console"), ("COM10", "COM10"), ("Title:", "Title -"), ("?.hidden", "hidden"),
    ])
    func namesAreMadePortable(_ name: String, _ expected: String) {
        #expect(FileName.portable(name) == expected)
        #expect(FileName.portable(expected) == expected, "a portable name stays")
        #expect(FileName.objection(to: FileName.portable(name)) == nil)
    }

    @Test func aLongNameStaysWithinItsLimit() {
        let name = FileName.portable(FileName.stem(String(repeating: "a: ", count: 200)))
        #expect(name.utf8.count <= FileName.stemLimit && !name.contains(":"))
    }

    private let odd = ["a: b", "a - b", "A? - B"]

    private func subscribe(_ template: NameTemplate) throws -> MergeResult {
        let items = odd.enumerated().map { makeItem($1, guid: "\($0)", url: "https://e.com/\($0).mp3") }
        var feed = makeFeed(items)
        feed.title = "Show: \"One\"?"
        return try library.subscribe(url: feedURL, feed: feed, name: nil, response: ok, template: template, now: noon)
    }

    private func names(_ podcast: ShowID) throws -> [String] {
        try library.entries(of: podcast).sorted { $0.id < $1.id }.map(\.name)
    }

    @Test func newNamesArePortableAndUnique() throws {
        let show = try subscribe(try NameTemplate("{title}").portable(true)).podcast
        #expect(show.name == "Show - 'One'")
        #expect(Set(try names(show.id)) == ["A - B.mp3", "a - b (2).mp3", "a - b (3).mp3"])
    }

    @Test func existingNamesAreChangedByCommandOnly() throws {
        let template = try NameTemplate("{title}")
        let show = try subscribe(template).podcast
        let before = try names(show.id)
        #expect(Set(before) == ["a: b.mp3", "a - b.mp3", "A? - B.mp3"])
        #expect(try library.renameAll(by: template, podcast: show.id, isDryRun: false) == [])
        let planned = try library.renameAll(by: template.portable(true), podcast: show.id, isDryRun: true)
        #expect(planned.first == Renaming.folder(from: "Show: \"One\"?", to: "Show - 'One'"))
        #expect(try names(show.id) == before)
        #expect(try library.renameAll(by: template.portable(true), podcast: show.id, isDryRun: false) == planned)
        let after = try names(show.id)
        #expect(Set(after) == ["A - B.mp3", "a - b (2).mp3", "a - b (3).mp3"])
        #expect(try library.podcast(id: show.id)?.name == "Show - 'One'")
        #expect(try library.renameAll(by: template.portable(true), podcast: show.id, isDryRun: false) == [])
        // A lookup by each new name finds an episode of this name.
        for name in after { #expect(try library.entry(of: show.id, named: name)?.name == name) }
    }

    @Test(arguments: [("Unplayed?", "Unplayed (2)"), ("Tags?", "Tags (2)"), ("Other?", "Other (2)")])
    func aPortableFolderNameIsUniqueInTheRoot(former: String, name: String) throws {
        _ = try library.subscribe([], url: "https://e.com/other", title: "Other")
        let show = try library.subscribe([], title: former).podcast
        #expect(show.name == former)
        let template = try NameTemplate("{title}").portable(true)
        let renamings = try library.renameAll(by: template, podcast: show.id, isDryRun: false)
        #expect(renamings == [.folder(from: former, to: name)])
    }

    @Test func renameAllRestoresExchangedNames() throws {
        let show = try subscribe(try NameTemplate("{title}")).podcast
        let ids = try library.entries(of: show.id).sorted { $0.id < $1.id }.map(\.id)
        let names = try names(show.id)
        try library.renameEpisode(id: ids[0], to: "tmp")
        try library.renameEpisode(id: ids[1], to: FileName.stem(ofFile: names[0]))
        try library.renameEpisode(id: ids[0], to: FileName.stem(ofFile: names[1]))
        #expect(try library.renameAll(by: NameTemplate("{title}"), podcast: show.id, isDryRun: false).count == 2)
        #expect(try self.names(show.id) == names)
    }
}

extension Renaming {
    fileprivate static func folder(from former: String, to name: String) -> Renaming {
        Renaming(episode: nil, former: former, name: name)
    }
}

/// Names that a person has typed inexactly.
struct LikelyNameTests {
    private let names = ["Owls & Co", "Hard Fork & Friends", "Der Küchenfunk", "The Daily", "99% Invisible"]

    @Test(arguments: [
        ("Oels", "Owls & Co"), ("Hard Frok", "Hard Fork & Friends"), ("kuchen", "Der Küchenfunk"),
        ("Küchenfnuk", "Der Küchenfunk"), ("owls and co", "Owls & Co"), ("the dayly", "The Daily"),
        ("invisble", "99% Invisible"), ("friend", "Hard Fork & Friends"), ("hardfork", "Hard Fork & Friends"),
    ]) func aMisspelledNameOrWordIsRecognized(typed: String, name: String) {
        #expect(LikelyName.nearest(to: typed, in: names) == name)
    }

    @Test(arguments: ["Zebra", "x", "", "co", "12345", "completely different"]) func anotherNameIsNot(typed: String) {
        #expect(LikelyName.nearest(to: typed, in: names) == nil)
    }

    @Test func theWholeNameWinsOverAPart() {
        #expect(LikelyName.nearest(to: "wols", in: ["Wolves and owls", "Owls"]) == "Owls")
        #expect(LikelyName.nearest(to: "template", in: ["names.templates", "names.template"]) == "names.template")
        #expect(LikelyName.nearest(to: "lits", in: ["set", "list", "evict"]) == "list")
    }

    @Test func aPartIsFoundWithoutCaseAndAccents() {
        #expect(LikelyName.contains("kuchen", in: "Der Küchenfunk"))
        #expect(LikelyName.contains("FORK FRIENDS", in: "Hard Fork & Friends"))
        #expect(!LikelyName.contains("owlsco", in: "Owls & Co"))
        #expect(!LikelyName.contains("&", in: "Owls & Co"))
    }
}
