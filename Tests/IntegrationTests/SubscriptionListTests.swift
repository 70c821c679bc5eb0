import Foundation
import Glibc
import PodcastLibrary
import TestSupport
import Testing

@testable import podfs

/// Import and export of subscription lists, by commands and in the mount.
struct SubscriptionListTests {
    private let home: PodfsHome
    private let server = HTTPTestServer()

    init() throws {
        home = try PodfsHome()
        try server.start()
    }

    private func publish(_ path: String, _ title: String, episodes: Int = 1) {
        let server = server
        server.serveShow(title, at: path, episodes: episodes, length: 1_000) { server.url("\(path).\($0).mp3") }
    }

    /// Writes a list of these shows, one per line from line 2 on, and returns its path.
    private func write(_ outlines: [(title: String, url: String)]) throws -> String {
        let lines = outlines.map { "<outline type=\"rss\" text=\"\($0.title)\" xmlUrl=\"\($0.url)\"/>" }
        return try home.directory.write(
            "list.opml", text: "<opml version=\"2.0\"><body>\n\(lines.joined(separator: "\n"))\n</body></opml>\n")
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func anImportReportsTheResultOfEachShow() async throws {
        publish("/a.xml", "A", episodes: 2)
        publish("/b.xml", "B")
        server.serve("/down.xml") { _ in .status(503) }
        server.serve("/blog.xml", Resource(text: FeedBuilder(title: "Blog", items: [.init(title: "x")]).text))
        let file = try write([
            ("a", server.url("/a.xml")), ("down", server.url("/down.xml")), ("none", ""),
            ("file", "file:///etc/passwd"),
            ("blog", server.url("/blog.xml")), ("b", server.url("/b.xml")), ("b again", server.url("/b.xml/")),
        ])
        let result = try await home.run("import", file)
        #expect(result.exitCode == 2)
        #expect(result.output == "2 shows imported, 1 added without episodes, 3 not usable\n")
        let errors = result.error.split(separator: "\n").map(String.init)
        #expect(errors.count == 4 && errors.allSatisfy { $0.hasPrefix("podfs: \(file):") }, "\(result.error)")
        for (line, says) in [
            (3, "503; try again later; added as 'down' without episodes"), (4, "no address"), (5, "“file:”"),
            (6, "enclosure"),
        ] {
            #expect(errors.contains { $0.hasPrefix("podfs: \(file):\(line): ") && $0.contains(says) }, "\(line)")
        }
        let list = try await home.run("list").output
        #expect(list.contains("A: 2 episodes\n") && list.contains("B: 1 episode\n"))
        #expect(list.contains("down: 0 episodes (failed: "))
        // A second import, from standard input, finds nothing new.
        let again = try await home.run("import", "-", input: Array(Data(contentsOf: URL(fileURLWithPath: file))))
        #expect(again.output == "0 shows imported, 3 already subscribed, 3 not usable\n")
        #expect(again.exitCode == 2 && again.error.contains("standard input:4: "))
    }

    @Test func anExportedListCanBeImported() async throws {
        publish("/a.xml", "A & “B”")
        publish("/c.xml", "C")
        let secret = server.url("/c.xml?token=geheim").replacing("http://", with: "http://me:hu%20sh@")
        for url in [server.url("/a.xml?x=1&y=2"), secret] {
            try await home.run("subscribe", url).succeeded()
        }
        let plain = home.directory.file("plain.opml")
        #expect(try await home.run("export", plain).exitCode == 0)
        let text = try String(contentsOfFile: plain, encoding: .utf8)
        #expect(!text.contains("geheim") && !text.contains("hu%20sh") && !text.contains("me:"))
        #expect(
            text.contains("xmlUrl=\"\(server.url("/a.xml?x=1&amp;y=2"))\"") && text.contains("<opml version=\"2.0\">"))
        #expect(try mode(plain) != 0o600)
        #expect(try await home.run("export").output == text)
        let whole = home.directory.file("whole.opml")
        #expect(try await home.run("export", "--with-secrets", whole).exitCode == 0)
        #expect(try String(contentsOfFile: whole, encoding: .utf8).contains(secret))
        #expect(try mode(whole) == 0o600)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: home.directory.path).filter { $0.contains("opml") }
                .count == 2)
        // Another installation gets the same list, and can fetch the private feed.
        let other = try PodfsHome()
        let imported = try await other.run("import", whole)
        #expect(imported.output == "2 shows imported\n" && imported.exitCode == 0, "\(imported.error)")
        #expect(
            try await other.run("export", "-", "--with-secrets").output
                == String(contentsOfFile: whole, encoding: .utf8))
        #expect(server.requests(for: "/c.xml").allSatisfy { $0.headers["Authorization"] == "Basic bWU6aHUgc2g=" })
        // The secrets are neither in visible output nor in the log.
        for arguments in [["list", "--json"], ["status", "--json"], ["list", "C", "--json"]] {
            let shown = try await other.run(arguments)
            #expect(shown.exitCode == 0 && !shown.output.contains("hu sh") && !shown.output.contains("geheim"))
        }
        let log = try String(contentsOfFile: "\(other.stateDirectory)/daemon.log", encoding: .utf8)
        #expect(!log.contains("hu%20sh") && !log.contains("hu sh") && !log.contains("geheim") && log.contains("/c.xml"))
        // An export into a missing folder fails.
        #expect(try await home.run("export", "\(home.directory.path)/missing/x.opml").exitCode == 1)
    }

    @Test func aLostLibraryIsRecreatedFromTheList() async throws {
        publish("/a.xml", "A", episodes: 3)
        publish("/b.xml", "B")
        publish("/c.xml", "C")
        let secret = server.url("/b.xml").replacing("http://", with: "http://me:hush@")
        #expect(try await home.run("subscribe", server.url("/a.xml"), "--name", "Eins  &  zwei").exitCode == 0)
        #expect(try await home.run("subscribe", secret, server.url("/c.xml")).exitCode == 0)
        #expect(try await home.run("rename", "C", "Last").exitCode == 0)
        let before = try await home.run("export", "--with-secrets").output
        try await home.endDaemon(SIGTERM)
        // Remove the library's write-ahead log, its index and the backup.
        for name in ["library.sqlite-wal", "library.sqlite-shm", "library.backup.sqlite"] {
            try? FileManager.default.removeItem(atPath: "\(home.dataDirectory)/\(name)")
        }
        try Data(repeating: 0x55, count: 65_536).write(to: URL(fileURLWithPath: home.library))
        server.serve("/c.xml") { _ in .status(500) }
        let list = try await home.run("list").succeeded()
        #expect(list.error.contains("had no backup: it was recreated from the subscription list"), "\(list.error)")
        #expect(list.output.split(separator: "\n").map { $0.prefix { $0 != ":" } } == ["B", "Eins  &  zwei", "Last"])
        try await waitUntil(description: "the feeds are listed") {
            let list = try await home.run("list").output
            return list.contains("B: 1 episode\n") && list.contains("Eins  &  zwei: 3 episodes\n")
                && list.contains("Last: 0 episodes (failed: \(server.url("/c.xml")): the server answered 500")
        }
        #expect(server.requests(for: "/b.xml").last?.headers["Authorization"] == "Basic bWU6aHVzaA==")
        #expect(try await home.run("export", "--with-secrets").output == before)
        publish("/c.xml", "C", episodes: 2)
        #expect(try await home.run("refresh").output == "2 new episodes in Last\n2 shows have nothing new\n")
        #expect(try await home.run("list", "Last").output.split(separator: "\n").count == 2)
    }
}
