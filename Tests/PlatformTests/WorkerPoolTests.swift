import Foundation
import Platform
import Testing

/// Tests that all code called by a task on the pool runs on the pool's threads. After a single job on the Swift
/// runtime's global executor, libdispatch would wake the process once a second.
@Suite(.timeLimit(.minutes(1))) struct WorkerPoolTests {
    private static var thread: String {
        let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        return name?.trimmingCharacters(in: .newlines) ?? ""
    }

    @concurrent private static func elsewhere() async -> String { thread }
    private static func plain() async -> String { thread }

    private actor Somebody {
        var thread: String { WorkerPoolTests.thread }
        var calls = 0

        func call() async -> String {
            calls += 1
            await Task.yield()
            return WorkerPoolTests.thread
        }
    }

    @Test func everythingCalledByATaskRunsOnThePool() async {
        let (stream, input) = AsyncStream<Int>.makeStream()
        let somebody = Somebody()
        let threads = await Task(executorPreference: WorkerPool.shared) { () -> [String: String] in
            var found = ["task": Self.thread]
            found["concurrent"] = await Self.elsewhere()
            found["plain"] = await Self.plain()
            async let child = Self.elsewhere()
            found["child"] = await child
            found["group"] = await withTaskGroup(of: String.self) { group in
                group.addTask { await Self.plain() }
                return await group.next() ?? ""
            }
            found["actor"] = await somebody.thread
            found["actor, later"] = await somebody.call()
            await withCheckedContinuation { continuation in startThread("other") { continuation.resume() } }
            found["continuation"] = Self.thread
            startThread("other") { input.yield(1) }
            for await _ in stream { break }
            found["stream"] = Self.thread
            await Timers.sleep(for: .milliseconds(1))
            found["sleep"] = Self.thread
            await Task.yield()
            found["yield"] = Self.thread
            return found
        }.value
        #expect(threads.count == 11)
        #expect(threads.filter { $0.value != "podfs-worker" } == [:])
    }

    @Test func aTaskOfAnActorRunsIsolatedToItOnThePool() async throws {
        let somebody = Somebody()
        let (calls, thread) = await somebody.startTask { actor in
            actor.calls += 1
            _ = await actor.call()
            return (actor.calls, Self.thread)
        }.value
        #expect(calls == 2 && thread == "podfs-worker")
        let failing = somebody.startTask { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await failing.value }
    }

    /// Tasks on several threads contend for one actor. The actor still runs on the pool that these tasks prefer.
    @Test func anActorThatIsContendedStaysOnThePool() async {
        let somebody = Somebody()
        let threads = await Task(executorPreference: WorkerPool.shared) {
            await withTaskGroup(of: Set<String>.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        var seen: Set<String> = []
                        for _ in 0..<50 { seen.insert(await somebody.call()) }
                        return seen
                    }
                }
                return await group.reduce(into: Set<String>()) { $0.formUnion($1) }
            }
        }.value
        #expect(threads == ["podfs-worker"])
        #expect(await somebody.calls == 800)
    }
}
