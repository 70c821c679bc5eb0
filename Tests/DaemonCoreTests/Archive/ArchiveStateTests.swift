@testable import PodcastService
import Testing

struct ArchiveStateTests {
    private func judge(_ probe: ArchiveProbe, known: String? = nil, hasFiles: Bool = false) -> ArchiveState.Verdict {
        ArchiveState.judge(probe, of: "/srv/a", known: known, hasFiles: hasFiles)
    }

    private func reason(_ verdict: ArchiveState.Verdict) -> String? {
        if case .state(let state) = verdict { state.readProblem } else { nil }
    }

    @Test func aNewFolderIsMarked() {
        #expect(judge(.unmarked) == .mark)
        #expect(judge(.unmarked, known: "a") == .mark)
        #expect(judge(.marked("a", isWritable: true)) == .state(.online))
    }

    @Test func theEmptyFolderOfAnUnmountedDiskIsNotTakenForTheArchive() {
        #expect(reason(judge(.unmarked, known: "a", hasFiles: true))?.contains("no file .podfs-archive") == true)
    }

    @Test func anotherArchiveIsRefusedOnceThereAreFiles() {
        #expect(judge(.marked("b", isWritable: true), known: "a") == .state(.online))
        let verdict = judge(.marked("b", isWritable: true), known: "a", hasFiles: true)
        #expect(reason(verdict) == "/srv/a is another archive: .podfs-archive has the id b, not a")
        #expect(judge(.marked("a", isWritable: true), known: "a", hasFiles: true) == .state(.online))
    }

    @Test func aReadOnlyArchiveIsReadAndNotWritten() {
        guard case .state(let state) = judge(.marked("a", isWritable: false), known: "a", hasFiles: true) else {
            Issue.record("no state")
            return
        }
        #expect(state.readProblem == nil)
        #expect(state.writeProblem == "/srv/a is read-only")
    }

    @Test func reasonsNameTheFolder() {
        #expect(reason(judge(.stalled)) == "/srv/a: the file system does not respond")
        #expect(reason(judge(.unreadable("No such file or directory"))) == "/srv/a: No such file or directory")
        #expect(
            reason(judge(.forbidden("is in the cache, /c"))) == "archive.folder: /srv/a is in the cache, /c")
    }
}
