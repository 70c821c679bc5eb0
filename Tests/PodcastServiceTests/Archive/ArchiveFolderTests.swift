import Foundation
import TestSupport
import Testing

@testable import PodcastService

struct ArchiveFolderTests {
    private let base: TemporaryDirectory
    private let path: String

    init() throws {
        base = try TemporaryDirectory()
        path = base.path + "/archive"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    private func examine(known: String? = nil, hasFiles: Bool = false) -> (state: ArchiveState, id: String?) {
        ArchiveFolder(path: path, cache: base.path + "/cache").examine(known: known, hasFiles: hasFiles)
    }

    @Test func aNewFolderIsMarkedOnce() throws {
        let (state, id) = examine(known: "a")
        #expect(state == .online)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [ArchiveNames.marker])
        let again = examine(known: id, hasFiles: true)
        #expect(again.state == .online && again.id == id && id != nil)
    }

    @Test func theEmptyFolderOfAnUnmountedDiskIsNotTakenForTheArchive() throws {
        let (state, id) = examine(known: "a", hasFiles: true)
        #expect(state.readProblem?.contains("no file .podfs-archive") == true && id == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
    }

    @Test func anotherArchiveIsRefusedOnceThereAreFiles() throws {
        try "b\n".write(toFile: path + "/" + ArchiveNames.marker, atomically: true, encoding: .utf8)
        #expect(examine(known: "a").id == "b")
        let state = examine(known: "a", hasFiles: true).state
        #expect(state.readProblem == "\(path) is another archive: .podfs-archive has the id b, not a")
    }

    @Test func reasonsNameTheFolder() throws {
        try FileManager.default.removeItem(atPath: path)
        #expect(examine().state == .offline("\(path): No such file or directory"))
        let cached = ArchiveFolder(path: path, cache: base.path).examine(known: nil, hasFiles: false)
        #expect(cached.state == .offline("archive.folder: \(path) is in the cache, \(base.path)"))
    }
}
