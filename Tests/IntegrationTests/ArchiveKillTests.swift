import Foundation
import Glibc
import PodcastLibrary
import TestSupport
import Testing

/// The daemon is killed at random moments while it moves episodes to the archive. Afterwards every episode must be
/// there once and whole, and nothing half done.
///
/// The environment variable `PODFS_ARCHIVE_KILLS` sets the number of kills (default 10), and `PODFS_SEED` the seed
/// (default 1) of the moments.
@Suite(.timeLimit(.minutes(15))) final class ArchiveKillTests {
    private static let episodes = 12
    private static let size = 4_000_000
    private static let kills = environmentNumber("PODFS_ARCHIVE_KILLS", otherwise: 10)
    private static let seed = environmentNumber("PODFS_SEED", otherwise: 1)

    private let home: PodfsHome
    private let web = HTTPTestServer()
    private let folder: String

    init() throws {
        home = try PodfsHome()
        folder = try home.directory.makeDirectory("archive")
        try home.configure("[archive]\nfolder = \"\(folder)\"\n")
        try web.start()
    }

    private func content(_ number: Int) -> TestContent { TestContent(seed: UInt64(number), size: Self.size) }

    private func publish(_ show: Int) {
        let feed = FeedBuilder.show("Show \(show)", episodes: Self.episodes, length: Self.size) {
            web.url("/\(show)-\($0).mp3")
        }
        web.serve("/\(show).xml", feed: feed)
        for number in 1...Self.episodes { web.serve("/\(show)-\(number).mp3", Resource(content(number))) }
    }

    /// Starts a daemon, which continues what the killed one had begun.
    private func wakeDaemon() async throws {
        _ = try await home.run("events", "--since", "\(Int64.max)", "--once")
    }

    private func media(of show: Int) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/Show \(show)")) ?? []
        return names.filter { $0.hasSuffix(".mp3") }.sorted()
    }

    @Test func killsDuringAMoveLoseAndDoubleNothing() async throws {
        var generator = SeededGenerator(seed: UInt64(bitPattern: Int64(Self.seed)))
        var (kills, show) = (0, 0)
        while kills < Self.kills {
            show += 1
            publish(show)
            try await home.run("subscribe", web.url("/\(show).xml"))
            try await home.run("download", "Show \(show)", "--wait").succeeded()
            try await home.run("set", "Show \(show)", "archive=true")
            while kills < Self.kills, media(of: show).count < Self.episodes {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...120, using: &generator)))
                home.killDaemon()
                kills += 1
                try await home.waitUntilDaemonHasEnded()
                try await wakeDaemon()
            }
            try await verify(show)
        }
        print("archive: \(kills) kills during the moves of \(show) shows")
    }

    /// Waits until a show is archived, and compares all files with what was published.
    private func verify(_ show: Int) async throws {
        try await waitUntil(deadline: .seconds(120), description: "show \(show) is archived") {
            try await home.run("list", "Show \(show)", "--json").output.components(
                separatedBy: "\"state\":\"archived\""
            ).count == Self.episodes + 1
        }
        #expect(media(of: show).count == Self.episodes)
        let library = try Library.openForReading(at: home.library)
        let podcast = try #require(try library.podcasts().first { $0.title == "Show \(show)" })
        for episode in try library.episodes(of: podcast.id) {
            let number = try #require(Int(episode.title.dropFirst("Episode ".count)))
            let path = try #require(episode.archive?.path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)"))
            #expect(content(number).matches(bytes), "\(path)")
        }
        let entries = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/Show \(show)")
        #expect(entries.filter { $0.hasPrefix(".") }.isEmpty)
        let cached = FileManager.default.enumerator(atPath: home.cacheDirectory + "/media")?.compactMap {
            $0 as? String
        }
        #expect((cached ?? []).filter { $0.contains("/") && !$0.contains(".") }.isEmpty)
    }
}
