import Foundation
import TestSupport
import Testing

/// Indexers, which read every file. podfs recognizes them by the name of their program; they start no download.
@Suite(.timeLimit(.minutes(5))) struct IndexerTests {
    /// Copies `cat` under another name, and returns the path of the copy.
    private static func impostor(_ name: String, in home: PodfsHome) throws -> String {
        try home.directory.copyProgram("/bin/cat", as: "bin/\(name)")
    }

    @Test(arguments: [
        "tracker-extract", "baloo_file_extractor", "updatedb.plocate", "totem-video-thumbnailer", "tumblerd",
    ])
    func anIndexerCannotReadUncachedEpisodes(_ name: String) async throws {
        let show = try await MountedShow()
        let indexer = try Self.impostor(name, in: show.home)
        // The first episode was never opened; the size of the second is known.
        try await show.confirmSize(of: show.path(2))
        let requests = show.server.requests.count
        for number in 1...2 {
            let refused = try await ChildProcess.run(indexer, [show.path(number)])
            #expect(refused.standardOutput.isEmpty && refused.says(EACCES), "\(refused.error)")
            #expect(try await show.attribute("state", of: show.path(number)) == "remote")
        }
        #expect(show.server.requests.count == requests)
        #expect(try await show.status() == "no active tasks\n")
        // Generated files cause no request and can be read.
        let playlist = "\(show.mount.mountPoint)/\(MountedShow.show)/playlist.m3u8"
        #expect(try await ChildProcess.run(indexer, [playlist]).output.hasPrefix("#EXTM3U"))
        // An indexer can read a cached episode.
        _ = try await show.read(show.path(3))
        try await show.waitForState("cached", of: show.path(3))
        let cached = try await ChildProcess.run(indexer, [show.path(3)])
        #expect(cached.exitCode == 0, "\(cached.error)")
        #expect(cached.standardOutput.count == 300_000 && MountedShow.content(3).matches(cached.standardOutput))
        // The same program under its own name can read an uncached episode.
        let other = try await ChildProcess.run("cat", [show.path(1)])
        #expect(other.standardOutput.count == 300_000)
    }

    @Test func aShellScriptIsJudgedByItsShell() async throws {
        // podfs examines the executable of the script's process: the shell, which is no indexer. podfs ignores the name
        // of the process (`comm`), which any program can choose.
        let show = try await MountedShow()
        let text = "#!/bin/sh\nread -r line < \"$1\"\n:\n"
        let script = try show.home.directory.writeProgram("tracker-extract", text: text)
        let run = try await ChildProcess.run(script, [show.path(1)])
        #expect(run.error.isEmpty)
        #expect(!show.requests(1).isEmpty)
    }

    @Test(.enabled(if: InstalledProgram.exists("file"), "file is not installed")) func theListOfIndexersIsConfigured()
        async throws
    {
        let show = try await MountedShow(configuration: "indexers = [\"file\", \"my indexer\"]\n")
        let folder = "\(show.mount.mountPoint)/\(MountedShow.show)"
        let found = try await ChildProcess.run("find", [folder, "-name", "*.mp3", "-exec", "file", "{}", "+"])
        #expect(
            found.output.split(separator: "\n").count { $0.hasSuffix("no read permission") } == 3, "\(found.output)")
        let refused = try await ChildProcess.run(try Self.impostor("my indexer", in: show.home), [show.path(1)])
        #expect(refused.says(EACCES), "\(refused.error)")
        #expect((1...3).allSatisfy { show.requests($0).isEmpty })
        // The configured list replaces the standard one.
        let read = try await ChildProcess.run(try Self.impostor("tracker-extract", in: show.home), [show.path(1)])
        #expect(read.standardOutput.count == 300_000)
    }

    @Test func anEmptyListRefusesNoProgram() async throws {
        let show = try await MountedShow(configuration: "indexers = []\n")
        let read = try await ChildProcess.run(try Self.impostor("tracker-extract", in: show.home), [show.path(1)])
        #expect(read.standardOutput.count == 300_000)
    }

    // MARK: Thumbnails

    private static let canMakeThumbnails =
        InstalledProgram.exists("ffmpegthumbnailer") && InstalledProgram.exists("ffmpeg")

    /// Mounts a show with one video.
    private static func videoShow(configuration: String) async throws -> MountedShow {
        let show = try await MountedShow(episodes: 1, length: nil, configuration: configuration)
        let path = show.home.directory.file("video.mp4")
        let made = try await ChildProcess.run(
            "ffmpeg",
            ["-v", "error", "-f", "lavfi", "-i", "testsrc=duration=2:size=128x96:rate=10", "-pix_fmt", "yuv420p", path])
        try #require(made.exitCode == 0, "\(made.error)")
        let bytes = Array(try #require(FileManager.default.contents(atPath: path)))
        show.server.serve("/1.mp3", Resource(bytes: bytes, contentType: "video/mp4"))
        return show
    }

    private static func thumbnail(_ show: MountedShow) async throws -> (result: ChildProcess.Result, picture: Data?) {
        let picture = show.home.directory.file("picture.png")
        let result = try await ChildProcess.run("ffmpegthumbnailer", ["-i", show.path(1), "-o", picture, "-s", "64"])
        return (result, FileManager.default.contents(atPath: picture))
    }

    @Test(.enabled(if: canMakeThumbnails, "ffmpegthumbnailer or ffmpeg is not installed"))
    func aThumbnailerDownloadsNothing() async throws {
        let show = try await Self.videoShow(configuration: "")
        let refused = try await Self.thumbnail(show)
        // The thumbnailer creates the output file before it reads the input, so an empty file may exist.
        #expect(refused.result.exitCode != 0 && refused.picture?.isEmpty ?? true, "\(refused.result.output)")
        #expect(show.requests(1).isEmpty)
        // A cached video gets a thumbnail.
        let downloaded = try await show.home.run("download", show.path(1))
        #expect(downloaded.exitCode == 0, "\(downloaded.error)")
        try await show.waitForState("cached", of: show.path(1))
        let made = try await Self.thumbnail(show)
        #expect(made.result.exitCode == 0, "\(made.result.error)")
        #expect(made.picture?.starts(with: [0x89, 0x50, 0x4E, 0x47]) ?? false)
    }

    @Test(.enabled(if: canMakeThumbnails, "ffmpegthumbnailer or ffmpeg is not installed"))
    func aThumbnailerThatIsNotOnTheListDownloads() async throws {
        let show = try await Self.videoShow(configuration: "indexers = [\"tumblerd\"]\n")
        let made = try await Self.thumbnail(show)
        #expect(made.result.exitCode == 0, "\(made.result.error)")
        #expect(made.picture?.starts(with: [0x89, 0x50, 0x4E, 0x47]) ?? false)
        #expect(!show.requests(1).isEmpty)
    }
}
