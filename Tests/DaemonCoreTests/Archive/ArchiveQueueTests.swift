import Platform
import PodcastProtocol
import Testing
import Transfers

@testable import PodcastService

struct ArchiveQueueTests {
    private var queue = ArchiveQueue(isConfigured: true)
    private var now = Instant.seconds(1_000)

    /// Performs the steps until there are none, as with a folder in this state and `files` files to move.
    private mutating func run(_ state: ArchiveState = .online, files: Int = 0) -> [ArchiveQueue.Step] {
        var (steps, rest): ([ArchiveQueue.Step], Int) = ([], files)
        while let step = queue.next(at: now) {
            steps.append(step)
            switch step {
            case .examine: queue.finish(step, .examined(state), at: now)
            case .reattach, .complete: queue.finish(step, .done, at: now)
            case .move:
                queue.finish(step, rest == 0 ? .done : .more, at: now)
                rest -= 1
            }
        }
        return steps
    }

    @Test mutating func withoutAFolderThereIsNoWork() {
        queue = ArchiveQueue(isConfigured: false)
        queue.request(.move)
        #expect(run() == [])
        #expect(queue.due == nil)
    }

    @Test mutating func theFolderIsExaminedBeforeAnythingElseAndOnce() {
        queue.request(.move)
        #expect(run(files: 2) == [.examine, .reattach, .move, .move, .move])
        #expect(run() == [])
        queue.request(.move)
        #expect(run(files: 1) == [.move, .move])
        queue.request(.reattach)
        #expect(run() == [.reattach])
        #expect(queue.due == nil)
    }

    @Test mutating func filesBesideEpisodesAreAddedAfterAllMoves() {
        queue.request(.move)
        queue.request(.complete(7))
        queue.request(.complete(7))
        #expect(run(files: 1) == [.examine, .reattach, .move, .move, .complete(7)])
        #expect(run() == [])
        queue.request(.complete(8))
        queue.request(.examine)
        queue.request(.move)
        #expect(run(.readOnly("read-only"), files: 1) == [.examine, .reattach], "the archived files are served")
        #expect(queue.due != nil)
        queue.request(.examine)
        #expect(run() == [.examine, .reattach, .move, .complete(8)])
    }

    @Test mutating func anOfflineFolderIsExaminedAgainAfterGrowingPauses() {
        queue.request(.move)
        var pauses: [Int64] = []
        for _ in 1...7 {
            #expect(run(.offline("away")) == [.examine])
            guard let due = queue.due else {
                Issue.record("no further attempt")
                return
            }
            pauses.append((due - now).seconds)
            now = due
        }
        #expect(pauses == [30, 60, 120, 240, 480, 900, 900])
        #expect(run(files: 1) == [.examine, .reattach, .move, .move])
        #expect(queue.due == nil)
    }

    /// Performs the steps before the first move.
    private mutating func prepare() {
        queue.request(.move)
        #expect(queue.next(at: now) == .examine)
        queue.finish(.examine, .examined(.online), at: now)
        #expect(queue.next(at: now) == .reattach)
    }

    @Test mutating func openFilesAreTriedAgainLater() {
        prepare()
        queue.finish(.reattach, .postponed, at: now)
        #expect(queue.next(at: now) == .move)
        queue.finish(.move, .postponed, at: now)
        #expect(queue.next(at: now) == nil)
        #expect(queue.due == now + .seconds(30))
        now += .seconds(30)
        #expect(run(files: 1) == [.reattach, .move, .move])
        #expect(queue.due == nil)
    }

    @Test mutating func aFullDiskPausesAndARefusedFileDoesNot() {
        prepare()
        queue.finish(.reattach, .done, at: now)
        #expect(queue.next(at: now) == .move)
        queue.finish(.move, .refused(7), at: now)
        #expect(queue.next(at: now) == .move)
        queue.finish(.move, .failed, at: now)
        queue.request(.move)
        #expect(queue.next(at: now) == nil)
        #expect(queue.due == now + .seconds(30))
        #expect(queue.refused == [7])
        now += .seconds(30)
        #expect(run(files: 1) == [.examine, .move, .move])
    }
}
