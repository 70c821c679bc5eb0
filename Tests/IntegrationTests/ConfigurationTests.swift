import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService
@testable import podfs

@Suite struct ConfigurationTests {
    private let directory: TemporaryDirectory
    private let paths: InstallationPaths

    init() throws {
        directory = try TemporaryDirectory()
        let folder = try directory.makeDirectory("podfs")
        paths = try #require(InstallationPaths(environment: ["HOME": folder, "XDG_CONFIG_HOME": directory.path]))
    }

    private func load(_ text: String) throws -> Configuration { try load(Array(text.utf8)) }

    private func load(_ bytes: [UInt8]) throws -> Configuration {
        try directory.write("podfs/config.toml", bytes)
        return try Configuration.load(paths)
    }

    /// Returns the error message for the text of a configuration, without the folder's path.
    private func complaint(_ text: String) -> String {
        do {
            Issue.record("accepted: \(try load(text))")
            return ""
        } catch {
            return "\(error)".replacing(directory.path + "/podfs/", with: "")
        }
    }

    @Test(arguments: [nil, "", "# nothing yet\n[cache]\n# limit = \"5 GiB\"\n[search.podcastindex]\n"])
    func aMissingFileAndOneOfCommentsMeanTheDefaults(_ text: String?) throws {
        let configuration = try text.map { try load($0) } ?? Configuration.load(paths)
        #expect(configuration.storage == StorageLimits(capacity: 10_737_418_240, keepFree: nil))
        let (limits, pools) = (configuration.transfers.limits, configuration.transfers.pools)
        #expect(pools.filling == 3 && pools.fillingPerHost == 2 && pools.readersPerHost == 6)
        #expect(limits.readerDeadline == .seconds(60) && limits.stall == .seconds(20))
        #expect(limits.retry.giveUp == .seconds(86_400) && configuration.transfers.rateLimit == 0)
        #expect(configuration.idleExit == .seconds(300) && configuration.refreshConnections == 64)
        #expect(configuration.schedule == RefreshSchedule(minimum: 900, maximum: 86_400))
        #expect(configuration.nameTemplate == .standard && configuration.nameTemplate.text == "{date} {title}")
        #expect(configuration.autoDownload == 0 && configuration.keep == .all)
        #expect(configuration.transfers.userAgent == "podfs/\(Podfs.version)" && configuration.catalogues.count == 1)
        #expect(configuration.indexers.contains("updatedb") && configuration.indexers.contains("tracker-extract"))
        #expect(configuration.probes.contains("ffprobe") && configuration.probes.contains("Plex Media Scanner"))
        #expect(configuration.onDownload == nil && configuration.archiveFolder == nil)
    }

    @Test func theTaggedFolderTheSharedAddressAndAnEmptyListAreRead() throws {
        #expect(try load("indexers = []").indexers.isEmpty)
        #expect(try !load("").hasTaggedFolder && load("tagged = true").hasTaggedFolder)
        #expect(
            try load("share.base_url = 'https://nas.example/podcasts//'").shareBase == "https://nas.example/podcasts")
        #expect(try load("[share]\nbase_url = 'http://[::1]:8080'").shareBase == "http://[::1]:8080")
        for address in [
            "nas.example/podcasts", "ftp://nas.example/", "https://", "https://a.example/?b", "https://u:p@a.example",
        ] {
            #expect(
                complaint("\nshare.base_url = '\(address)'")
                    == "config.toml:2: share.base_url: expected an http or https address without a query, "
                    + "such as \"https://nas.example/podcasts\", found \"\(address)\"")
        }
    }

    @Test func theArchiveIsAnAbsolutePath() throws {
        let all = try load("[archive]\nfolder = \"/srv/./podcasts/\"\nshows = \"all\"")
        #expect(all.archiveFolder == "/srv/podcasts" && all.archivesAll)
        #expect(try load("archive.folder = '~/Archive'").archiveFolder?.hasSuffix("/Archive") == true)
        #expect(
            complaint("archive.folder = 'podcasts'")
                == "config.toml:1: archive.folder: expected an absolute path, or one that begins with ~/, "
                + "found \"podcasts\"")
        #expect(
            complaint("archive.shows = 'some'")
                == "config.toml:1: archive.shows: expected \"named\" or \"all\", found \"some\"")
    }

    @Test func aFileThatCannotBeReadIsAnError() throws {
        try directory.makeDirectory("podfs/config.toml")
        let error = ConfigurationError(path: paths.configFile, line: nil, message: "cannot be read: Is a directory")
        #expect(throws: error) { try Configuration.load(paths) }
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try load(
            """
            auto_download = 2
            keep = "20 episodes"
            user_agent = "Radio/1.0"
            indexers = [
                "updatedb",  # locate
                'my-indexer',
            ]

            [cache]
            limit = "1.5 GiB"
            keep_free = "500 MB"

            [transfers]
            filling = 5
            filling_per_host = 1
            readers_per_host = 4
            rate_limit = "2 MB/s"
            reader_deadline = "90 s"
            stall = 30
            give_up = "2 days"

            [discretionary]
            allow_metered = true
            allow_battery = true

            [daemon]
            idle_exit = "0 s"

            [refresh]
            min = "30 min"
            max = "12 h"
            connections = 16

            [names]
            portable = true
            template = "{season}x{episode} {title}"

            [search]
            itunes.url = "http://localhost:8080/search"
            podcastindex = { key = "K", secret = "S", url = "http://localhost:8081" }

            [hooks]
            on_download = "notify-send done"
            on_new_episode = "true"
            on_idle = \"\"\"
            sync
            systemctl suspend\"\"\"
            """)
        #expect(configuration.autoDownload == 2 && configuration.keep == .episodes(20))
        #expect(configuration.transfers.userAgent == "Radio/1.0")
        #expect(configuration.indexers == ["updatedb", "my-indexer"])
        #expect(configuration.storage == StorageLimits(capacity: 1_610_612_736, keepFree: 500_000_000))
        let (limits, pools) = (configuration.transfers.limits, configuration.transfers.pools)
        #expect(configuration.transfers.rateLimit == 2_000_000)
        #expect(pools.filling == 5 && pools.fillingPerHost == 1 && pools.readersPerHost == 4)
        #expect(limits.readerDeadline == .seconds(90) && limits.stall == .seconds(30))
        #expect(limits.retry.giveUp == .seconds(172_800) && configuration.idleExit == .zero)
        #expect(configuration.allowsMetered && configuration.allowsBattery)
        #expect(configuration.schedule == RefreshSchedule(minimum: 1_800, maximum: 43_200))
        #expect(configuration.refreshConnections == 16)
        #expect(configuration.nameTemplate == (try NameTemplate("{season}x{episode} {title}").portable(true)))
        #expect(configuration.catalogues.count == 2)
        #expect(configuration.onDownload == "notify-send done" && configuration.onNewEpisode == "true")
        #expect(configuration.onIdle == "sync\nsystemctl suspend")
    }

    @Test func aByteOrderMarkAndWindowsLineEndsDoNoHarm() throws {
        let configuration = try load("\u{FEFF}[cache]\r\nlimit = \"1 GB\"\r\n")
        #expect(configuration.storage.capacity == 1_000_000_000)
    }

    @Test(
        arguments: [
            ("\"1024\"", 1_024), ("1024", 1_024), ("\"10 GiB\"", 10 << 30), ("\"10GiB\"", 10 << 30),
            ("\"500 MB\"", 500_000_000), ("\"1 kB\"", 1_000), ("\"1 KiB\"", 1_024), ("\"2 TiB\"", 2 << 40),
            ("\"0.5 gib\"", 1 << 29), ("\"7 B\"", 7),
        ] as [(String, Int64)])
    func sizesAreRead(text: String, bytes: Int64) throws {
        #expect(try load("cache.limit = \(text)").storage.capacity == bytes)
    }

    @Test(
        arguments: [
            ("\"500 ms\"", .milliseconds(500)), ("\"60 s\"", .seconds(60)), ("\"1.5 min\"", .seconds(90)),
            ("\"24 h\"", .seconds(86_400)), ("\"7 days\"", .seconds(604_800)), ("\"1 hour\"", .seconds(3_600)),
            ("45", .seconds(45)), ("\"45\"", .seconds(45)),
        ] as [(String, Duration)])
    func durationsAreRead(text: String, duration: Duration) throws {
        #expect(try load("transfers.stall = \(text)").transfers.limits.stall == duration)
    }

    @Test(
        arguments: [
            ("all", .all), ("listed", .listed), ("1 episode", .episodes(1)), ("20 episodes", .episodes(20)),
            ("30 days", .days(30)), ("1 day", .days(1)),
        ] as [(String, Keep)])
    func keepIsPrintedInTheFormInWhichItIsRead(text: String, keep: Keep) throws {
        #expect(try load("keep = \"\(text)\"").keep == keep)
        #expect(keep.description == text)
    }

    @Test(arguments: [
        ("cache.limit = \"ten\"", "config.toml:1: cache.limit: expected a size"),
        ("[cache]\n\nlimit = \"-1 GiB\"", "config.toml:3: cache.limit: expected a size"),
        ("[cache]\nlimit = \"10 GiB/s\"", "config.toml:2: cache.limit: expected a size"),
        ("[cache]\nlimit = \"99999999999 TiB\"", "config.toml:2: cache.limit: expected a size"),
        ("[cache]\nlimit = 0", "config.toml:2: cache.limit: expected a size"),
        ("[cache.limit]\nx = 1", "config.toml:1: cache.limit: expected a size"),
        ("transfers = { filling = 0 }", "config.toml:1: transfers.filling: expected a whole number from 1 to 64"),
        ("transfers.filling = \"3\"", "config.toml:1: transfers.filling: expected a whole number from 1 to 64"),
        ("transfers.rate_limit = \"0\"", "config.toml:1: transfers.rate_limit: expected a rate"),
        ("transfers.stall = \"20 parsecs\"", "config.toml:1: transfers.stall: expected a duration of at least 1 ms"),
        ("sync.interval = \"0.5 s\"", "config.toml:1: sync.interval: expected a duration of at least 1000 ms"),
        ("transfers.allow_private = [\"10.0.0.0/33\"]", "config.toml:1: transfers.allow_private: expected hosts"),
        ("transfers.allow_private = \"nas.lan\"", "config.toml:1: transfers.allow_private: expected hosts"),
        ("discretionary.allow_metered = \"yes\"", "config.toml:1: discretionary.allow_metered: expected true or false"),
        ("keep = 20", "config.toml:1: keep: expected \"all\""),
        ("keep = \"0 episodes\"", "config.toml:1: keep: expected \"all\""),
        ("names.template = \"{artist}\"", "config.toml:1: names.template: unknown field {artist}"),
        ("user_agent = \"a\\r\\nb: c\"", "config.toml:1: user_agent: expected text"),
        ("search.itunes.url = \"file:///etc\"", "config.toml:1: search.itunes.url: expected an http"),
        ("probes = [\"/usr/bin/ffprobe\"]", "config.toml:1: probes: expected names"),
        ("names.portable = 1", "config.toml:1: names.portable: expected"),
        ("indexers = \"updatedb\"", "config.toml:1: indexers: expected names"),
        ("indexers = [\n\"a\",\n\"/usr/bin/b\"]", "config.toml:1: indexers: expected names"),
        ("hooks.on_idle = \"\"", "config.toml:1: hooks.on_idle: expected a command"),
        ("keep = 1\n[cache]\nlimit = \"x\"", "config.toml:1: keep:"),
        ("user_agent = \"x\"\nkeep = 1\nauto_download = -1", "config.toml:2: keep:"),
        ("[refresh]\nmax = \"1 h\"\nmin = \"2 h\"", "config.toml:3: refresh.min is longer"),
        ("[search.podcastindex]\nurl = \"http://localhost\"\nkey = \"K\"", "config.toml:2: the Podcast Index needs"),
    ])
    func badValuesAreNamedWithTheirLine(text: String, complaint: String) throws {
        let found = self.complaint(text)
        #expect(found.hasPrefix(complaint), "\(found)")
    }

    @Test(arguments: [
        ("\n# c\n\ncache.limt = 1", "config.toml:4: unknown key \"cache.limt\"; did you mean \"cache.limit\"?"),
        (
            "[transfers]\nfilling = 1\n\"filing_per_host\" = 2",
            "config.toml:3: unknown key \"transfers.filing_per_host\"; did you mean \"transfers.filling_per_host\"?"
        ),
        ("limit = 1", "config.toml:1: unknown key \"limit\"; did you mean \"cache.limit\"?"),
        (
            "x = '''\n[cache]\nlimt = 1\n'''\n[ hooks . 'on_idel' ]\n",
            "config.toml:1: unknown key \"x\"; see podfs.conf(5)"
        ),
        ("[cach]\n", "config.toml:1: unknown key \"cach\"; did you mean \"cache\"?"),
        ("[cach]\nlimit = 1\n", "config.toml:1: unknown key \"cach\"; did you mean \"cache\"?"),
        ("[a.cache]\n[cache]\n'limi\u{2028}t' = 1", "config.toml:1: unknown key \"a.cache\"; did you mean \"cache\"?"),
        (
            "indexers = [ # ]\n  \"a]\",\n]\n\"auto\\u005Fdwnload\" = 1",
            "config.toml:4: unknown key \"auto_dwnload\"; did you mean \"auto_download\"?"
        ),
        (
            "cache = 5",
            "config.toml:1: \"cache\" is a table, not a value; its keys include \"cache.limit\""
        ),
        ("colour = \"red\"", "config.toml:1: unknown key \"colour\"; see podfs.conf(5)"),
    ])
    func unknownKeysAreReportedWithTheirLineAndASimilarKey(text: String, complaint: String) throws {
        #expect(self.complaint(text) == complaint)
    }

    @Test func aSyntaxErrorIsReportedWithItsLine() throws {
        #expect(complaint("[cache]\nlimit = \n").hasPrefix("config.toml:2: "))
        #expect(complaint("keep = \"all\"\nkeep = \"all\"\n").hasPrefix("config.toml:2: "))
        #expect(throws: ConfigurationError(path: paths.configFile, line: nil, message: "it is not valid UTF-8")) {
            try load(Array("keep = \"all\"\n# caf".utf8) + [0xE9, 0x0A])
        }
    }
}
