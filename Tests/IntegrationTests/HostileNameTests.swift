import Foundation
import TestSupport
import Testing

/// Titles that try to control the terminal on which they are listed.
struct HostileNameTests {
    /// A title with ESC and BEL, CSI as the single C1 character U+009B, and U+202E, which reverses the following text.
    private static let title = "Evil\u{1B}]0;owned\u{7}\u{1B}[2J \u{9B}31mShow\u{202E}3pm"

    private static func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            scalar == "\n"
                || !(scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
                    || (0x202A...0x202E).contains(scalar.value))
        }
    }

    @Test func noControlCharacterOfAFeedReachesTheTerminal() async throws {
        let server = HTTPTestServer()
        try server.start()
        let home = try PodfsHome()
        let episode: [String: Any] = [
            "id": "1\u{9B}", "title": Self.title, "url": "https://example.com/\u{9B}",
            "attachments": [["url": server.url("/gone.mp3"), "mime_type": "audio/mpeg", "size_in_bytes": 10]],
        ]
        let feed: [String: Any] = [
            "version": "https://jsonfeed.org/version/1.1", "title": Self.title,
            "home_page_url": "https://example.com/\u{9B}2J", "items": [episode],
        ]
        let data = try JSONSerialization.data(withJSONObject: feed)
        server.serve("/feed.json", Resource(bytes: [UInt8](data), contentType: "application/feed+json"))
        server.serve("/gone.mp3", Resource(text: "", contentType: "audio/mpeg")) { _ in .status(404) }
        let file = try home.directory.write("feed.json", data)

        let subscribed = try await home.run("subscribe", server.url("/feed.json")).succeeded()
        let shows: [[String: Any]] = try await home.run("list", "--json").json()
        let folder = try #require(shows.first?["name"] as? String)
        let title = try #require(shows.first?["title"] as? String)
        // JSON output has the complete title; its control characters are escaped.
        #expect(shows.count == 1 && title.contains("\u{9B}31m"), "\(title)")
        let download = try await home.run("download", folder, "--wait").failed()
        let commands = [
            ["list"], ["list", "--json"], ["list", folder], ["list", folder, "--json"], ["list", "No\u{1B}[31mSuch"],
            ["inspect", file], ["inspect", file, "--json"], ["inspect", server.url("/feed.json"), "--json"],
            ["events", "--since", "0", "--once"], ["events", "--since", "0", "--once", "--json"], ["status"],
            ["status", "--json"], ["rename", folder, "a\u{1B}[31m/b"], ["unsubscribe", "\u{1B}[31m"], ["export"],
        ]
        for command in commands {
            let result = try await home.run(command)
            #expect(Self.isHarmless(result.output), "\(command): \(result.output.debugDescription)")
            #expect(Self.isHarmless(result.error), "\(command): \(result.error.debugDescription)")
        }
        #expect(Self.isHarmless(subscribed.output) && Self.isHarmless(download.error))
    }
}
