import Foundation
import Glibc
import PodcastLibrary
import TestSupport
import Testing

/// A damaged library file.
@Suite(.timeLimit(.minutes(5))) struct LibraryDamageTests {
    /// The kind of damage.
    enum Damage: String, CaseIterable {
        /// The first 16 KiB of the file are overwritten.
        case overwritten
        /// The file is truncated to a third of its size.
        case cut
        /// The file is empty.
        case emptied

        func apply(to path: String) throws {
            let url = URL(fileURLWithPath: path)
            var data = try Data(contentsOf: url)
            switch self {
            case .overwritten:
                data.replaceSubrange(0..<min(16_384, data.count), with: Data(repeating: 0xA5, count: 16_384))
            case .cut: data = data.prefix(data.count / 3)
            case .emptied: data = Data()
            }
            // Write in place, so that programs that have the file open see the change.
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: data)
            try handle.close()
        }
    }

    /// Returns a show with one cached episode, after mount and daemon have exited normally.
    private static func usedShow() async throws -> MountedShow {
        let show = try await MountedShow()
        try await show.expectWhole(1, MountedShow.content(1))
        #expect(try await show.home.run("unmount", show.mount.mountPoint).exitCode == 0)
        show.home.killDaemon(SIGTERM)
        try await show.home.waitUntilDaemonHasEnded()
        // Replace the library with a copy in a single file without a WAL, as after a checkpoint of SQLite.
        let copy = show.home.library + ".copy"
        try Library.openForReading(at: show.home.library).backup(to: copy)
        for suffix in ["-wal", "-shm"] { unlink(show.home.library + suffix) }
        try #require(rename(copy, show.home.library) == 0)
        #expect(try await show.home.run("list").output.hasPrefix("Example Show: 3 episodes"))
        return show
    }

    @Test(arguments: [Damage.overwritten, .cut]) func aDamagedLibraryIsNeverReplacedByAnEmptyOne(_ damage: Damage)
        async throws
    {
        let show = try await Self.usedShow()
        try damage.apply(to: show.home.library)
        let before = try Data(contentsOf: URL(fileURLWithPath: show.home.library))
        // None of these commands may treat the damaged library as one without shows.
        for command in [["list"], ["mount", show.mount.mountPoint], ["refresh"], ["status"]] {
            let result = try await show.home.run(command)
            #expect(!result.output.contains("no subscriptions yet"), "\(command): \(result.output)")
            if result.exitCode != 0 {
                #expect(result.error.contains("damaged"), "\(command): \(result.error)")
                #expect(result.error.split(separator: "\n").count == 1)
            }
        }
        // The damaged file, or a renamed copy, still exists for a repair.
        let files = try FileManager.default.contentsOfDirectory(atPath: show.home.dataDirectory)
        let kept = files.contains { name in
            (try? Data(contentsOf: URL(fileURLWithPath: "\(show.home.dataDirectory)/\(name)"))) == before
        }
        #expect(kept, "\(files)")
    }

    @Test(arguments: Damage.allCases) func theShowsOfTheLastBackupAreListed(_ damage: Damage) async throws {
        let show = try await Self.usedShow()
        try damage.apply(to: show.home.library)
        let mounted = try await show.home.run("mount", show.mount.mountPoint)
        try #require(mounted.exitCode == 0, "\(mounted.error)")
        let listing = try await ChildProcess.run("ls", ["\(show.mount.mountPoint)/\(MountedShow.show)"])
        #expect(listing.output.split(separator: "\n").count == 5, "\(listing.output)\(listing.error)")
        #expect(try await show.home.run("list").output.hasPrefix("Example Show: 3 episodes"))
        // The bytes are right, from the cache or from the server.
        let result = try await show.read(show.path(1))
        #expect(result.standardOutput.count == 300_000 && MountedShow.content(1).matches(result.standardOutput))
    }
}
