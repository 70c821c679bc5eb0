import Foundation
import PodcastLibrary
import PodcastProtocol
import TestSupport
import Testing
import Transfers

@testable import PodcastService

/// Tests of the reports that players send to a daemon while they play an episode.
@Suite(.stopsDaemons) struct ListeningServiceTests {
    private let home = ServiceHome()

    @Test func reportsAreStoredAndSentAsEventsAndRunTheHook() async throws {
        home.publish("Show")
        let output = home.directory.file("played")
        let (daemon, client) = try await home.subscribe { $0.onPlayed = "echo \"$PODFS_ID\" >> '\(output)'" }
        let id = try daemon.episode().id
        func report(_ phase: ListeningReport.Phase, _ position: Double) async throws -> Reply {
            try await client.perform(
                .report(ListeningReport(episode: id, player: "test", phase: phase, position: position, duration: 40)))
        }
        #expect(try await report(.started, 0) == .listening(resume: nil))
        #expect(try await report(.playing, 3) == .listening(resume: nil))
        #expect(try await report(.seeked, 29) == .listening(resume: nil))
        #expect(try daemon.episode().position == 29)
        let told = try await client.event("of the seek") { $0.kind == .listening && $0.listening?.position == 29 }
        #expect(told.episode == id && told.listening?.duration == 40 && told.path?.hasPrefix("Show/") == true)
        #expect(try await report(.paused, 29.5) == .listening(resume: nil))
        #expect(try await report(.stopped, 31) == .listening(resume: nil))
        let episode = try daemon.episode()
        #expect(episode.played && episode.position == nil && episode.lastPlayed != nil)
        try await waitUntil(description: "the hook has run") {
            (try? String(contentsOfFile: output, encoding: .utf8)) == "\(id)\n"
        }
        try await client.perform(.setPlayed(episode: id, false))
        try await client.perform(.setPosition(episode: id, seconds: 35))
        let resumed = try await client.perform(
            .report(ListeningReport(episode: id, player: "p", phase: .started, position: 0, duration: 3_600)))
        #expect(resumed == .listening(resume: 32))
        let beyond = ListeningReport(episode: id, player: "p", phase: .paused, position: 1e300)
        #expect(await client.failure(of: .report(beyond))?.kind == .usage)
        #expect(
            await client.failure(of: .report(ListeningReport(episode: 99, player: "p", phase: .paused, position: 1)))?
                .message == "there is no episode with the id 99")
        #expect(
            try await client.perform(.setShowPlayed(podcast: daemon.episode().podcast, true))
                == .acted(count: 1, problems: []))
    }

    /// A client need not wait for a reply before it sends the next command.
    @Test func commandsOfAConnectionBeginInTheirOrder() async throws {
        home.publish()
        let (daemon, client, id) = try await home.subscribeToEpisode()
        for _ in 0..<50 {
            for position in 1...40 {
                client.connection.send(.setPosition(episode: id, seconds: Double(position))) { _ in }
            }
            try await client.perform(.setPosition(episode: id, seconds: 41))
            #expect(try daemon.episode().position == 41)
        }
    }

    @Test func markingAShowSelectsTheNextAutomaticDownload() async throws {
        home.publish(episodes: 3)
        let (daemon, client) = try await home.subscribe()
        let show = try daemon.episode().podcast
        try await client.perform(.setShowPlayed(podcast: show, true))
        try await client.perform(
            .set(podcast: show, assignments: ["auto_download=1", "auto_download_order=oldest_unplayed"]))
        #expect(try daemon.library.downloads().isEmpty)
        let reply = try await client.perform(.setShowPlayed(podcast: show, false))
        #expect(reply == .acted(count: 3, problems: []))
        try await client.completion(of: try daemon.episode(1).id)
    }
}
