import Foundation
import Platform
import PodcastFilesystem
import TestSupport
import Testing

@Suite struct FolderWatchTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// The results of consecutive waits on one thread.
    private final class Waits: Sendable {
        private let answers = Journal<Bool>()
        var entries: [Bool] { answers.entries }

        init(_ watch: FolderWatch) {
            startThread("watch") { [self] in
                while true {
                    let answer = watch.wait()
                    answers.append(answer)
                    if !answer { return }
                }
            }
        }
    }

    private func move(into folder: String) throws {
        try Data().write(to: URL(fileURLWithPath: folder + "/file"), options: .atomic)
    }

    @Test func aFileThatIsMovedIntoTheFolderIsNoticed() async throws {
        let watch = FolderWatch(folder.path)
        let waits = Waits(watch)
        try await waitUntil(description: "the file is noticed") {
            try move(into: folder.path)
            return waits.entries.contains(true)
        }
        watch.stop()
        try await waitUntil(description: "the thread ends") { waits.entries.last == false }
    }

    @Test func theThreadEndsWithTheWatch() async throws {
        for path in [folder.path, folder.file("missing")] {
            let before = FolderWatch(path)
            before.stop()
            #expect(!before.wait())
            #expect(!before.wait())
            for _ in 0..<20 {
                let watch = FolderWatch(path, pause: .seconds(3_600))
                let waits = Waits(watch)
                watch.stop()
                watch.stop()
                try await waitUntil(description: "the thread ends") { waits.entries == [false] }
            }
        }
    }

    /// The folder is missing here. A folder is also polled if the user has no inotify instances or watches left.
    @Test func aFolderThatCannotBeWatchedIsPolled() async throws {
        let watch = FolderWatch(folder.file("missing"), pause: .milliseconds(10))
        let waits = Waits(watch)
        try await waitUntil(description: "the folder is polled") { waits.entries.count > 3 }
        watch.stop()
        try await waitUntil(description: "the thread ends") { waits.entries.last == false }
    }

    @Test func aRecreatedFolderIsWatchedAgain() async throws {
        let path = folder.file("later")
        let watch = FolderWatch(path, pause: .seconds(3_600))
        for _ in 0..<2 {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let move = OneWait(watch)
            try await waitUntil(description: "the folder is watched") { try isWatched(path) }
            try self.move(into: path)
            try await move.isOver()
            let removal = OneWait(watch)
            try FileManager.default.removeItem(atPath: path)
            try await removal.isOver()
        }
        watch.stop()
        #expect(!watch.wait())
    }

    /// Returns whether this process has an inotify watch on a folder, as proc_pid_fdinfo(5) describes it.
    private func isWatched(_ path: String) throws -> Bool {
        let inode = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
        let line = " ino:\(String(try #require(inode), radix: 16)) "
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").contains { name in
            // Another thread may have closed the descriptor after the listing.
            let info = try? String(contentsOfFile: "/proc/self/fdinfo/\(name)", encoding: .utf8)
            return info?.split(separator: "\n").contains { $0.hasPrefix("inotify ") && $0.contains(line) } ?? false
        }
    }

    /// A single wait on its own thread.
    private struct OneWait {
        private let answers = Journal<Bool>()

        init(_ watch: FolderWatch) {
            startThread("wait") { [answers] in answers.append(watch.wait()) }
        }

        /// Waits until the wait has returned, and expects that the watch was not stopped.
        func isOver() async throws {
            try await waitUntil(description: "the wait is over") { !answers.entries.isEmpty }
            #expect(answers.entries == [true])
        }
    }
}
