import Foundation
import TestSupport
import Testing

/// Media servers that scan a mount and play from it.
@Suite(.timeLimit(.minutes(5))) struct MediaServerTests {
    private static let episodes = 30

    /// Three minutes of silence at 128 kbit/s: frames of 417 bytes without main data, numbered in their unused bytes.
    private static let recording: [UInt8] = {
        var bytes: [UInt8] = []
        for number in 0..<7_200 {
            bytes += [0xFF, 0xFB, 0x90, 0x64] + Array(repeating: 0, count: 32)
            bytes += [0, 8].map { UInt8(truncatingIfNeeded: number >> $0) } + Array(repeating: 0, count: 379)
        }
        return bytes
    }()

    @Test(.enabled(if: InstalledProgram.exists("minidlnad"), "needs the Debian package minidlna"))
    func minidlnaListsAndServesUncachedEpisodes() async throws {
        let show = try await MountedShow(episodes: Self.episodes, length: Self.recording.count)
        for number in 1...Self.episodes {
            let resource = Resource(bytes: Self.recording, contentType: "audio/mpeg", etag: "\"\(number)\"")
            show.server.serve("/\(number).mp3", resource)
        }
        let folder = try TemporaryDirectory()
        let reserved = try ReservedPort()
        let port = reserved.number
        let configuration = try folder.write(
            "minidlna.conf",
            text: """
                media_dir=A,\(show.mount.mountPoint)/\(MountedShow.show)
                db_dir=\(folder.path)
                log_dir=\(folder.path)
                port=\(port)
                network_interface=lo
                inotify=no
                """)
        let server = try ChildProcess("minidlnad", ["-S", "-R", "-f", configuration, "-P", folder.file("pid")])
        defer { server.kill(SIGTERM) }
        func curl(_ arguments: String...) async throws -> ChildProcess.Result {
            try await ChildProcess.run("curl", ["-s", "-m", "60", "--noproxy", "*"] + arguments)
        }
        let address = "http://127.0.0.1:\(port)"
        try await waitUntil(deadline: .seconds(120), description: "all episodes are scanned: \(server.error)") {
            try await curl(address).output.contains("<td>\(Self.episodes)</td>")
        }
        // The server has sent a part of every episode, at most 1 MiB, and none is being downloaded.
        #expect(try await show.status() == "no active tasks\n")
        let listed = try await show.home.run("list", MountedShow.show, "--json").output
        #expect(listed.components(separatedBy: "\"state\":\"remote\"").count == Self.episodes + 1)
        for number in 1...Self.episodes {
            #expect((1...1 << 20).contains(show.server.bodyBytesWritten(for: "/\(number).mp3")))
        }

        // A player asks for the folder, and for a part of one episode.
        let service = "urn:schemas-upnp-org:service:ContentDirectory:1"
        let browse = """
            <s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><u:Browse xmlns:u="\(service)">
            <ObjectID>64</ObjectID><BrowseFlag>BrowseDirectChildren</BrowseFlag><Filter>*</Filter>
            <StartingIndex>0</StartingIndex><RequestedCount>0</RequestedCount><SortCriteria></SortCriteria>
            </u:Browse></s:Body></s:Envelope>
            """
        var found = ""
        // minidlna counts a file before it lists it.
        try await waitUntil(description: "all episodes are listed: \(found)") {
            found = try await curl(
                "-H", "Content-Type: text/xml", "-H", "SOAPAction: \"\(service)#Browse\"", "--data", browse,
                "\(address)/ctl/ContentDir"
            ).output
            return found.contains("<TotalMatches>\(Self.episodes)</TotalMatches>")
        }
        #expect(found.components(separatedBy: "size=\"\(Self.recording.count)\"").count == Self.episodes + 1)
        let item = try #require(found.firstMatch(of: /http:[^&]*\/MediaItems\/[0-9]+\.mp3/)).output
        let part = try await curl("-r", "2000000-2000999", String(item))
        #expect(part.standardOutput == Array(Self.recording[2_000_000..<2_001_000]))
    }
}
