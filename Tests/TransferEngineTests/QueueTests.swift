import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Long queues of downloads.
@Suite struct QueueTests {
    private let content = TestContent(seed: 94, size: 200_000)
    private static let count: Int64 = 300

    @Test func aServerThatRefusesIsNotAskedForEachDownload() async throws {
        let bench = try EngineBench()
        for key in 1...Self.count {
            bench.add(MediaID(key), Resource(content, etag: "\"v1\""), key <= 2 ? [.normal.retryAfter("3600")] : [])
        }
        // Both of the host's connections are requested before either is refused.
        try await bench.onLoop { loop in
            for key in 1...2 as ClosedRange<Int64> {
                loop.changeTask(MediaID(key), load: bench.loader(MediaID(key))) { $0.fill(.asked) }
            }
        }
        for key in 3...Self.count { try bench.fill(MediaID(key)) }
        func snapshots() async throws -> [DownloadSnapshot] { try await bench.engine.snapshots() }
        try await bench.wait("all are queued") { try await snapshots().count == Self.count }
        try await bench.wait("two are refused, and those that wait say why") {
            try await snapshots().allSatisfy { $0.error?.message.contains("503") == true && $0.retryIn != nil }
        }
        #expect(bench.server.requests.count == 2)
        #expect(try await snapshots().allSatisfy { $0.state != .running })
        // A reader does not wait, and what the server answers it lets the others run.
        _ = try await bench.read(MediaID(Self.count), 0..<1_000)
        try await bench.wait("the others are complete") { bench.completed.count == Int(Self.count) - 2 }
    }

    @Test func loadingForTasksDoesNotDelayAReader() async throws {
        let bench = try EngineBench()
        for key in 1...Self.count + 1 { bench.add(MediaID(key), Resource(content, etag: "\"v1\"")) }
        let loaded = Mutex(0)
        let engine = try bench.engine
        let reader = MediaID(Self.count + 1)
        // All are posted on the engine's thread, so that they are in one batch.
        let loadedBefore: Int = try await withCheckedThrowingContinuation { continuation in
            engine.mailbox.post { _ in
                for key in 1...Self.count {
                    engine.fill(MediaID(key)) {
                        loaded.withLock { $0 += 1 }
                        return try bench.loader(MediaID(key))()
                    }
                }
                engine.open(reader) {
                    continuation.resume(returning: loaded.withLock { $0 })
                    return try bench.loader(reader)()
                } answer: { _ in
                }
            }
        }
        #expect(loadedBefore == 0)
        try await bench.wait("all files are complete") { bench.completed.count == Self.count }
    }

    @Test func aCancelledTaskIsNotLoaded() async throws {
        let bench = try EngineBench()
        bench.add(1, Resource(content))
        bench.add(2, Resource(content))
        let loaded = Mutex(0)
        try await bench.onLoop { loop in
            let load: TransferEngine.Loader = {
                loaded.withLock { $0 += 1 }
                return try bench.loader(1)()
            }
            loop.changeTask(1, load: load) { $0.fill(.asked) }
            #expect(loop.cancelTask(1))
        }
        try bench.fill(2)
        try await bench.waitUntilWhole(2)
        #expect(loaded.withLock { $0 } == 0)
    }

    @Test func laterChangesOfARequestedTaskDoNotLoadIt() async throws {
        let bench = try EngineBench()
        bench.add(1, Resource(content))
        let full = TransferError(.diskFull, "no space for the whole file")
        try bench.engine.setAwaitsSpace(1, full)
        #expect(try await bench.engine.snapshots().isEmpty, "a change of a task that is not requested is ignored")
        let states: [TaskState?] = try await bench.onLoop { loop in
            loop.changeTask(1, load: bench.loader(1)) { $0.fill(.asked) }
            loop.changeTask(1) { $0.change { $0.setAwaitsSpace(full, now: $1) } }
            let before = loop.download(1)?.snapshot.state
            // A reader's request loads it.
            return [before, (try? loop.download(1, load: bench.loader(1)))?.snapshot.state]
        }
        #expect(states == [nil, .queued])
        #expect(try await bench.snapshot(1)?.error == full)
        try bench.engine.setAwaitsSpace(1, nil)
        try await bench.waitUntilWhole(1)
    }
}
