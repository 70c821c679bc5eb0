import Platform
import PodcastProtocol
import Testing

@testable import PodcastService
@testable import Transfers

/// Queues of thousands of downloads: the work for one event does not depend on their number.
struct LongQueueTests {
    private static let now = Moment(wall: .seconds(1_000), uptime: .seconds(10))

    private static func snapshot(_ number: Int64, _ state: TaskState, received: Int64 = 0) -> DownloadSnapshot {
        DownloadSnapshot(
            key: MediaID(number), generation: 1, state: state, received: received, total: nil, isTask: true)
    }

    private static func task(_ number: Int64, _ state: TaskState = .queued, received: Int64 = 0) -> RegisteredDownload {
        RegisteredDownload(
            id: TaskID(number), show: 1, path: "Show/\(number).mp3", session: ClientSession.common,
            created: .seconds(0), asked: .seconds(0), guess: 1_000,
            snapshot: snapshot(number, state, received: received), recordedBytes: received)
    }

    /// Returns the assessments of space that a batch requires.
    private func assessments(_ core: inout DaemonCore, _ inputs: [Input]) -> [Effect] {
        let effects = inputs.flatMap { core.handle($0, at: Self.now) } + core.finishBatch(at: Self.now)
        return effects.filter { if case .assessSpace = $0 { true } else { false } }
    }

    @Test func theStartAndTheEndOfADownloadNeedNoPlanWhileThereIsSpaceForAll() {
        var core = DaemonCore(
            limits: StorageLimits(capacity: 1 << 40, keepFree: 0), idleExit: .seconds(300))
        let queue = (1...2_000).flatMap { number in
            [Input.registered(Self.task(number), asked: nil), .wanted(MediaID(number), .asked)]
        }
        #expect(assessments(&core, queue) == [.assessSpace(isProgress: false)])
        let state = StorageSnapshot(
            used: 0, diskTotal: 1 << 50, diskFree: 1 << 50, transfers: core.tasks.storageTransfers(open: []))
        let plan = core.space.plan(for: state)
        #expect(plan.reserved.count == 2_000)
        #expect(assessments(&core, [.planned(plan)]).isEmpty)
        var started = Self.snapshot(1, .running, received: 10)
        started.total = 1_200
        #expect(assessments(&core, [.reported(started)]) == [.assessSpace(isProgress: true)])
        #expect(core.space.coversProgress(diskTotal: 1 << 50, diskFree: 1 << 50))
        #expect(assessments(&core, [.completed(1, generation: 1, size: 1_200)]).isEmpty)
        #expect(assessments(&core, [.failed(2, TransferError(.missing, "404"))]).isEmpty)
    }

    @Test(
        arguments: [
            ([], true), ([.ended(1)], false), ([.cancelling(1, true)], false),
            ([.cancelling(1, true), .connected(1), .disconnected(1)], false),
            // Its bytes were complete, or it was requested again.
            ([.cancelling(1, true), .cancelling(1, false)], true),
            ([.cancelling(1, true), .registered(task(1), asked: now.wall)], true),
        ] as [([Input], Bool)])
    func ordersWaitForThePlanWhileFilesAreEvicted(then inputs: [Input], areStarted: Bool) {
        var core = DaemonCore(limits: StorageLimits(capacity: 1 << 40, keepFree: 0), idleExit: .seconds(300))
        func starts(_ inputs: [Input]) -> Bool {
            (inputs.flatMap { core.handle($0, at: Self.now) } + core.finishBatch(at: Self.now)).contains {
                if case .run = $0 { true } else { false }
            }
        }
        #expect(!starts([.registered(Self.task(1), asked: nil), .wanted(1, .asked)]))
        #expect(!starts([.evicted(7)]), "the plan is not complete")
        #expect(!starts(inputs))
        #expect(starts([.planned(StoragePlan())]) == areStarted)
    }

    @Test func theCountsOfTheTableFollowEveryChange() {
        var random = SystemRandomNumberGenerator()
        var table = DownloadTable()
        var model: [MediaID: RegisteredDownload] = [:]
        let states: [TaskState] = [.queued, .running, .suspended, .failed]
        for _ in 0..<3_000 {
            let number = Int64.random(in: -200...200, using: &random)
            let media = MediaID(number)
            if Bool.random(using: &random) {
                let state = states[Int.random(in: 0..<states.count, using: &random)]
                var task = Self.task(number, state, received: .random(in: 0...9, using: &random))
                task.recordedBytes = 4
                model[media] = task
                table[media] = task
            } else {
                #expect(table.remove(media) == model.removeValue(forKey: media))
            }
        }
        #expect(table.values.sorted { $0.id < $1.id } == model.values.sorted { $0.id < $1.id })
        #expect(table.count == model.count)
        #expect(table.underWay == model.values.count(where: \.isUnderWay))
        #expect(table.proceeding == model.values.count(where: \.canProceed))
        #expect(table.unrecordedBytes == model.values.reduce(0) { $0 + max(0, $1.snapshot.received - 4) })
    }
}
