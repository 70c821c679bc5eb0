import Foundation
import Glibc
import TestSupport
import Testing

/// `podfs adopt`: files of other programs, an archive folder, and hostile folders.
@Suite(.timeLimit(.minutes(5))) struct AdoptTests {
    private let show: MountedShow
    private let archive: String
    private let downloads: String

    init() async throws {
        let folder = try TemporaryDirectory()
        archive = try folder.makeDirectory("archive")
        downloads = try folder.makeDirectory("downloads/Example Show")
        self.folder = folder
        show = try await MountedShow(configuration: "[archive]\nfolder = \"\(archive)\"\n", isMounted: false)
    }

    private let folder: TemporaryDirectory

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(downloads)/\(name)"))
    }

    private func content(_ number: Int) -> [UInt8] { MountedShow.content(number).bytes(in: 0..<300_000) }

    private func adopt(_ options: String...) async throws -> ChildProcess.Result {
        try await show.home.run(["adopt", folder.file("downloads")] + options)
    }

    private func results(_ result: ChildProcess.Result) throws -> [String: [String: Any]] {
        let list: [[String: Any]] = try result.json()
        return Dictionary(uniqueKeysWithValues: list.map { ($0["file"] as? String ?? "", $0) })
    }

    @Test func filesAreCopiedIntoTheArchiveAndPlayedFromThere() async throws {
        try write("Episode 1.mp3", content(1))
        try write("2.mp3", content(2))
        try write("Unrelated talk.mp3", content(9))
        try write("notes.txt", Array("text".utf8))
        let dry = try await adopt("--dry-run").succeeded()
        #expect(
            dry.output.contains(
                "Example Show/Episode 1.mp3: would be adopted as 'Example Show/2026-01-01 Episode 1.mp3' "
                    + "(title, size in the feed, folder of the show)\n"))
        #expect(dry.output.hasSuffix("2 files would be adopted, 1 not matched, 1 other file ignored\n"))
        #expect(!FileManager.default.fileExists(atPath: "\(archive)/Example Show"))

        let result = try await adopt().succeeded()
        #expect(result.output.hasSuffix("2 files adopted, 1 not matched, 1 other file ignored\n"))
        let copy = "\(archive)/Example Show/2026-01-01 Episode 1.mp3"
        #expect(FileManager.default.contents(atPath: copy) == Data(content(1)))
        // Nothing was moved, and nothing is fetched for the adopted episodes.
        #expect(try FileManager.default.contentsOfDirectory(atPath: downloads).count == 4)
        try await show.remount()
        let read = try await ChildProcess.run("cat", [show.path(1), show.path(2)])
        #expect(read.standardOutput == content(1) + content(2))
        #expect(show.server.requests(for: "/1.mp3").isEmpty)

        // The same command goes on where it was.
        let again = try await adopt()
        #expect(again.output.hasSuffix("0 files adopted, 2 downloaded already, 1 not matched, 1 other file ignored\n"))
    }

    @Test func filesInTheArchiveFolderStayWhereTheyAre() async throws {
        let inside = "\(archive)/old/Example Show"
        try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: true)
        try Data(content(3)).write(to: URL(fileURLWithPath: "\(inside)/Episode 3.mp3"))
        let result = try await show.home.run("adopt", archive).succeeded()
        #expect(result.output.contains("1 file adopted"))
        #expect(!FileManager.default.fileExists(atPath: "\(archive)/Example Show/2026-01-03 Episode 3.mp3"))
        try await show.remount()
        let read = try await ChildProcess.run("cat", [show.path(3)])
        #expect(read.standardOutput == content(3))
        try await show.home.run("adopt", archive).printed("0 files adopted, 1 downloaded already\n")
    }

    @Test func hostileFoldersAreListedWithTheReason() async throws {
        try write("Episode 1.mp3", content(1))
        try write("Episode 2.mp3", Array("<!DOCTYPE html><html><body>Not found</body></html>".utf8))
        try write("Episode 3.mp3", [])
        let outside = try folder.write("outside.mp3", content(3))
        try FileManager.default.createSymbolicLink(
            atPath: "\(downloads)/link.mp3", withDestinationPath: outside)
        try FileManager.default.createSymbolicLink(atPath: "\(downloads)/loop", withDestinationPath: "..")
        try FileManager.default.createDirectory(atPath: "\(downloads)/.hidden", withIntermediateDirectories: true)
        try write(".hidden/Episode 3.mp3", content(3))
        #expect(mkfifo("\(downloads)/pipe.mp3", 0o600) == 0)
        let result = try results(try await adopt("--dry-run", "--json"))
        #expect(result["Example Show/Episode 1.mp3"]?["result"] as? String == "matched")
        #expect(result["Example Show/Episode 1.mp3"]?["certain"] as? Bool == true)
        let reasons = result.mapValues { $0["reason"] as? String }
        #expect(reasons["Example Show/Episode 2.mp3"] == "it is a web page, not media")
        #expect(reasons["Example Show/Episode 3.mp3"] == "it is empty")
        #expect(
            reasons["Example Show/link.mp3"] == "it is a symbolic link: the file that it leads to is not looked at")
        #expect(result.count == 5, "\(result.keys)")
    }

    @Test func anArchiveThatIsAwayIsReportedOnce() async throws {
        for number in 1...3 { try write("Episode \(number).mp3", content(number)) }
        #expect(rename(archive, archive + ".away") == 0)
        let result = try await adopt().failed()
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        #expect(result.output == "0 files adopted, 3 failed\n")
        let json = try results(try await adopt("--json"))
        #expect(json.values.compactMap { $0["result"] as? String } == ["failed", "failed", "failed"])
        // Once the folder is there, the same command succeeds.
        #expect(rename(archive + ".away", archive) == 0)
        #expect(try await adopt().output.hasSuffix("3 files adopted\n"))
    }

    @Test func mistakesAreExplained() async throws {
        try show.home.configure("")
        try await adopt().failed(says: "[archive] and folder = ")
        try await show.home.run("adopt", folder.file("absent"), "--dry-run").failed()
        try await adopt("--dry-run", "--database", folder.file("absent")).failed()
        try await show.remount()
        try await show.home.run("adopt", show.mount.mountPoint, "--dry-run").failed(says: "is in a mount of podfs")
    }
}
