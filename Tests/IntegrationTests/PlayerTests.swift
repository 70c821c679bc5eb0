import Foundation
import Glibc
import TestSupport
import Testing

/// Media players that read an uncached episode in a mount. Their output must equal that for the original file.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: InstalledProgram.exists("ffmpeg") && InstalledProgram.exists("ffprobe"), "ffmpeg is not installed"))
struct PlayerTests {
    enum Format: String, CaseIterable, Sendable {
        case mp3
        /// The file's index is at its end, and a player reads it first.
        case m4a

        var type: String {
            switch self {
            case .mp3: "audio/mpeg"
            case .m4a: "audio/mp4"
            }
        }
    }

    /// A mounted show with real audio, an episode for each format, and the originals.
    private struct Station {
        let show: MountedShow
        let originals: [Format: String]

        init(allowOther: Bool = false) async throws {
            show = try await MountedShow(isMounted: false)
            let server = show.server
            var feed = FeedBuilder(title: MountedShow.show)
            var originals: [Format: String] = [:]
            for format in Format.allCases {
                let path = show.home.directory.file("original.\(format.rawValue)")
                // Noise, so that no two positions sound alike.
                let made = try await ChildProcess.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-f", "lavfi", "-i", "anoisesrc=seed=7:duration=40:amplitude=0.1", "-b:a", "96k",
                        path,
                    ])
                try #require(made.exitCode == 0, "\(made.error)")
                let bytes = Array(try #require(FileManager.default.contents(atPath: path)))
                server.serve("/\(format.rawValue)", Resource(bytes: bytes, contentType: format.type))
                feed.items.append(
                    FeedBuilder.Item(
                        title: format.rawValue, guid: format.rawValue, url: server.url("/\(format.rawValue)"),
                        length: bytes.count, type: format.type))
                originals[format] = path
            }
            server.serve("/feed.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
            let refreshed = try await show.home.run("refresh")
            #expect(refreshed.exitCode == 0, "\(refreshed.error)")
            self.originals = originals
            if allowOther {
                let mounted = try await show.home.run("mount", "--allow-other", show.mount.mountPoint)
                try #require(mounted.exitCode == 0, "\(mounted.error)")
            } else {
                try await show.remount()
            }
        }

        func original(_ format: Format) throws -> String { try #require(originals[format]) }

        func episode(_ format: Format) -> String {
            "\(show.mount.mountPoint)/\(MountedShow.show)/\(format.rawValue).\(format.rawValue)"
        }

        /// Runs a program on the original and on the episode, and compares its outputs or the files that it writes.
        /// Checks that the episode was requested.
        ///
        /// - Parameter minimum: The size in bytes below which a program has decoded nothing or almost nothing.
        func expectSame(
            _ format: Format, atLeast minimum: Int, sourceLocation: SourceLocation = #_sourceLocation,
            _ run: (_ path: String, _ output: String) async throws -> ChildProcess.Result
        ) async throws {
            var results: [Data] = []
            for (number, path) in [try original(format), episode(format)].enumerated() {
                let output = show.home.directory.file("results/output-\(number)")
                let result = try await run(path, output)
                #expect(result.exitCode == 0, "\(result.output)\(result.error)", sourceLocation: sourceLocation)
                results.append(FileManager.default.contents(atPath: output) ?? Data(result.standardOutput))
            }
            #expect(results[0].count >= minimum, sourceLocation: sourceLocation)
            let isSame = results[0] == results[1]
            #expect(isSame, sourceLocation: sourceLocation)
            #expect(show.server.requests(for: "/\(format.rawValue)").count > 0, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: Format.allCases) func ffmpegDecodesTheSameSamples(_ format: Format) async throws {
        let station = try await Station()
        // ffmpeg prints one line with a hash for each frame of the 40 seconds, so the size shows that there were
        // frames. A single hash of all samples would be as long if there were none.
        try await station.expectSame(format, atLeast: 100_000) { path, _ in
            try await ChildProcess.run("ffmpeg", ["-v", "error", "-xerror", "-i", path, "-f", "framemd5", "-"])
        }
        // Decode again, from second 25. The episode is now cached or being fetched.
        try await station.expectSame(format, atLeast: 40_000) { path, _ in
            try await ChildProcess.run(
                "ffmpeg", ["-v", "error", "-xerror", "-ss", "25", "-i", path, "-f", "framemd5", "-"])
        }
    }

    @Test(.enabled(if: InstalledProgram.exists("mpv"), "mpv is not installed"), arguments: Format.allCases)
    func mpvPlaysTheSameFromTheMiddle(_ format: Format) async throws {
        let station = try await Station()
        _ = try station.show.home.directory.makeDirectory("results")
        // The size of one second of 16-bit samples at 44.1 kHz. A file without samples has only a header.
        try await station.expectSame(format, atLeast: 88_200) { path, output in
            try await ChildProcess.run(
                "mpv",
                [
                    "--no-config", "--vo=null", "--ao=pcm", "--ao-pcm-file=\(output)", "--untimed", "--start=20",
                    "--length=5", path,
                ])
        }
    }

    /// VLC refuses to run as root. If the tests run as root, they run VLC as `nobody`.
    @Test(
        .enabled(if: InstalledProgram.exists("cvlc"), "vlc is not installed"),
        .enabled(if: getuid() != 0 || ChildProcess.canRunAsNobody, "runuser is not installed"),
        arguments: Format.allCases)
    func vlcPlaysTheSame(_ format: Format) async throws {
        let isRoot = getuid() == 0
        let station = try await Station(allowOther: isRoot)
        let folder = station.show.home.directory
        let results = try folder.makeDirectory("results")
        if isRoot {
            chmod(folder.path, 0o711)
            chmod(results, 0o777)
        }
        // The size of 30 of the 40 seconds, as 16-bit samples at 22.05 kHz.
        try await station.expectSame(format, atLeast: 30 * 44_100) { path, output in
            let program = ["env", "HOME=\(results)", "LANG=C.UTF-8", "cvlc"]
            let arguments = [
                "--intf=dummy", "--no-one-instance", "--play-and-exit", "--quiet",
                "--sout=#transcode{acodec=s16l,channels=1,samplerate=22050}:std{access=file,mux=wav,dst=\(output)}",
                path, "vlc://quit",
            ]
            guard isRoot else {
                return try await ChildProcess.run(program[0], program.dropFirst() + arguments)
            }
            return try await ChildProcess.runAsNobody(program[0], program.dropFirst() + arguments)
        }
    }
}
