import Foundation
import TestSupport
import Testing

/// Indexers, which read every file. podfs recognizes them by the name of their program; they start no download.
@Suite(.timeLimit(.minutes(5))) struct IndexerTests {
    @Test(arguments: [
        "tracker-extract", "baloo_file_extractor", "updatedb.plocate", "totem-video-thumbnailer", "tumblerd",
    ])
    func anIndexerCannotReadUncachedEpisodes(_ name: String) async throws {
        let show = try await MountedShow()
        let indexer = try show.home.directory.copyProgram("/bin/cat", as: "bin/\(name)")
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
        let cached = try await ChildProcess.run(indexer, [show.path(3)]).succeeded()
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
        let refused = try await ChildProcess.run(
            try show.home.directory.copyProgram("/bin/cat", as: "bin/my indexer"), [show.path(1)])
        #expect(refused.says(EACCES), "\(refused.error)")
        #expect((1...3).allSatisfy { show.requests($0).isEmpty })
        // The configured list replaces the standard one.
        let read = try await ChildProcess.run(
            try show.home.directory.copyProgram("/bin/cat", as: "bin/tracker-extract"), [show.path(1)])
        #expect(read.standardOutput.count == 300_000)
    }
}
