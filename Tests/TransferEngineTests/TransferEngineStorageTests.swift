import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import Transfers

/// Downloads whose bytes cannot be stored, because the disk is full or their file fails, and how they continue
/// afterwards.
@Suite struct TransferEngineStorageTests {
    private let content = TestContent(seed: 21, size: 4_000_000)
    private let full = TransferError(.diskFull, "the cache has reached its limit")
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    @Test(.enabled(if: TemporaryFilesystem.isPossible)) func aFullDiskSuspendsAndNothingIsLost() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 2)
        let bench = try EngineBench(in: disk.path)
        let path = bench.add(1, resource)
        #expect(await failure { try await bench.read(1, 3_900_000..<3_900_100) }?.code == nil)
        try bench.fill(1)
        try await bench.wait("the download is suspended") { bench.snapshots(1).last?.state == .suspended }
        let error = TransferError(.diskFull, "no space left in the cache")
        #expect(bench.snapshots(1).last?.error == error)
        #expect(bench.snapshots(1).last?.isTask == true)
        #expect(await failure { try await bench.read(1, 2_500_000..<2_500_100) } == error)
        #expect(try await bench.read(1, 3_900_000..<3_900_100) == content.bytes(in: 3_900_000..<3_900_100))
        #expect(bench.failures.isEmpty)
        // The read above also starts a download, which may fill the disk before `fill` is called. The full disk is then
        // reported twice, because `fill`, as a request by the user, tries again.
        #expect([[1], [1, 1]].contains(bench.storageFailures.map(\.key)))
        #expect(bench.storageFailures.allSatisfy { $0.error == error })
        let asked = bench.server.requests.count
        try await disk.grow(to: 16)
        try bench.engine.setStorageFull(nil)
        try await bench.expectWhole(1, content)
        #expect(bench.source(1)?.generation == 1)
        #expect(bench.server.requests(for: path).count > asked)
    }

    @Test(.enabled(if: TemporaryFilesystem.isPossible)) func aUserMayRetryAfterAFullDisk() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 2)
        let bench = try EngineBench(in: disk.path)
        bench.add(1, resource)
        try bench.fill(1)
        try await bench.wait("the download is suspended") { bench.snapshots(1).last?.state == .suspended }
        try await disk.grow(to: 16)
        try await bench.download(1, content)
    }

    @Test(.enabled(if: TemporaryFilesystem.isPossible)) func aFullDiskSuspendsAllDownloadsWithOneReport() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 2)
        let bench = try EngineBench(in: disk.path)
        let gate = Gate(heldAt: 1_000)
        bench.add(1, resource)
        bench.add(2, resource, [.hold(gate)])
        bench.add(3, resource)
        try bench.fill(2)
        try await bench.waitUntilReceived(2, 1_000)
        try bench.fill(1)
        for key in [1, 2] as [MediaID] {
            try await bench.wait("\(key) is suspended") { bench.snapshots(key).last?.state == .suspended }
        }
        #expect(await failure { try await bench.read(3, 0..<10) }?.code == .diskFull, "a later download fails too")
        #expect(bench.server.requests(for: "/3.mp3").isEmpty, "bytes that cannot be stored are not requested")
        #expect(bench.storageFailures.map(\.key) == [1])
        gate.open()
        try await disk.grow(to: 16)
        try bench.engine.setStorageFull(nil)
        try await bench.waitUntilWhole(1, 2)
        for key in [1, 2] as [MediaID] { #expect(try bench.holds(key, content)) }
    }

    @Test func theOwnersReportSuspendsAndResumes() async throws {
        let bench = try EngineBench()
        let path = bench.add(1, resource, [.stall(after: 1_000_000)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        async let reader = failure { try await bench.read(1, 1_500_000..<1_500_010) }
        try await bench.wait("the reader waits") { try await bench.engine.waits(1) == 1 }
        try bench.engine.setStorageFull(full)
        #expect(await reader == full)
        try await bench.wait("the connection has ended") { bench.server.requests(for: path)[0].isFinished }
        try await bench.wait("the download is suspended") { bench.snapshots(1).last?.state == .suspended }
        #expect(bench.snapshots(1).last?.error == full)
        #expect(try await bench.read(1, 0..<1_000_000) == content.bytes(in: 0..<1_000_000))
        bench.add(2, resource)
        #expect(await failure { try await bench.open(2) } == full)
        try bench.fill(1, 2)
        try await bench.wait("the second download is suspended too") { bench.snapshots(2).last?.state == .suspended }
        #expect(bench.server.requests.count == 1, "a request by the user does not override the owner")
        #expect(bench.storageFailures.isEmpty, "the owner knows it")
        try bench.engine.setStorageFull(nil)
        try await bench.waitUntilWhole(1, 2)
        #expect(bench.share(path, of: content.size) <= 1.05)
    }

    /// The kernel reports lost bytes to one sync only. Here the sync for a checkpoint fails, and the later sync of the
    /// complete file succeeds although the bytes are lost.
    @Test func aFileWithBytesLostOnDiskIsNotComplete() async throws {
        let bench = try EngineBench()
        let gate = Gate(heldAt: 3_900_000)
        bench.add(1, resource, [.hold(gate)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 3_900_000)
        let name = try #require(bench.source(1)?.file)
        try await bench.wait("the bytes are in a checkpoint") {
            try bench.engine.cache.checkpoint(of: name)?.receivedRanges.byteCount == 3_900_000
        }
        let file = try #require(try await bench.onLoop { $0.download(1)?.file })
        try failSync(of: file)
        gate.open()
        try await bench.wait("the download fails") { bench.snapshots(1).last?.state == .failed }
        #expect(bench.completed.isEmpty && bench.failures.map(\.code) == [.failed])
        #expect(try bench.engine.cache.checkpoint(of: name)?.complete == false)
        try await bench.download(1, content)
        #expect(bench.source(1)?.file == name)
    }

    /// Makes one sync of a file fail: during the sync, the file's descriptor refers to a pipe.
    private func failSync(of file: CacheFile) throws {
        let folder = "/proc/self/fd"
        let open = try FileManager.default.contentsOfDirectory(atPath: folder).filter { entry in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(entry)")) == file.path.string
        }
        let descriptor = FileDescriptor(rawValue: try #require(open.first.flatMap { Int32($0) }))
        let pipe = try FileDescriptor.pipe()
        let saved = try descriptor.duplicate()
        _ = try pipe.readEnd.duplicate(as: descriptor)
        #expect(throws: Errno.invalidArgument) { try file.synchronize(knownFailures: 0) }
        _ = try saved.duplicate(as: descriptor)
        for descriptor in [saved, pipe.readEnd, pipe.writeEnd] { try descriptor.close() }
    }

    @Test func aFileThatCannotBeOpenedNowIsKept() async throws {
        let bench = try EngineBench()
        bench.add(1, resource, [.close(after: 1_000_000), .stall(after: 0)])
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
        try await bench.waitUntilReceived(1, 1_000_000)
        bench.shutDown()
        let name = try #require(bench.source(1)?.file)
        let lease = try FileLease(ContentCache.path(of: name, in: FilePath(bench.cacheFolder)).string)
        try bench.start()
        #expect(await failure { try await bench.read(1, 0..<10) }?.code == .failed)
        lease.release()
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
        #expect(bench.source(1)?.file == name && bench.source(1)?.generation == 1)
    }

    /// A file that cannot be created, because a regular file has the path of its folder.
    @Test func aFileThatCannotBeCreatedIsAFailureAndCanBeRetried() async throws {
        let bench = try EngineBench { $0.limits.failureMemory = .zero }
        bench.add(1, resource)
        let media = bench.cacheFolder + "/media"
        try FileManager.default.removeItem(atPath: media)
        try Data().write(to: URL(fileURLWithPath: media))
        #expect(await failure { try await bench.read(1, 0..<10) }?.code == .failed)
        #expect(bench.storageFailures.isEmpty)
        try FileManager.default.removeItem(atPath: media)
        try FileManager.default.createDirectory(atPath: media, withIntermediateDirectories: true)
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
    }

    @Test(.enabled(if: TemporaryFilesystem.isPossible)) func aFileIsCreatedWhenThereIsSpace() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 1)
        let bench = try EngineBench(in: disk.path)
        bench.add(1, resource)
        let ballast = try disk.fill()
        #expect(await failure { try await bench.read(1, 0..<10) }?.code == .diskFull)
        try await bench.wait("the full storage is reported") { bench.storageFailures.map(\.key) == [1] }
        #expect(bench.source(1)?.file == nil)
        #expect(try await bench.snapshot(1)?.state == .suspended)
        try FileManager.default.removeItem(atPath: ballast)
        try await disk.grow(to: 16)
        try bench.engine.setStorageFull(nil)
        try await bench.expectWhole(1, content)
        #expect(try bench.engine.cache.names().count == 1, "the first try left no file")
    }

    /// Downloads the first 1,000,000 bytes of an episode, until a checkpoint contains them. Then fills the disk.
    ///
    /// - Returns: The name of the cache file, and the file that fills the disk.
    private func fillDisk(_ disk: TemporaryFilesystem, _ bench: EngineBench, _ gate: Gate) async throws -> (
        name: String, ballast: String
    ) {
        bench.add(1, resource, [.hold(gate)])
        try bench.fill(1)
        try await bench.waitUntilReceived(1, 1_000_000)
        let name = try #require(bench.source(1)?.file)
        try await bench.wait("the bytes are in a checkpoint") {
            try bench.engine.cache.checkpoint(of: name)?.receivedRanges.byteCount == 1_000_000
        }
        // The spare files are removed, since the next checkpoint would reuse their space.
        let spares = try FileManager.default.contentsOfDirectory(atPath: bench.cacheFolder)
            .filter { $0.hasPrefix("checkpoint.") }
        #expect(!spares.isEmpty)
        for spare in spares { try FileManager.default.removeItem(atPath: bench.cacheFolder + "/" + spare) }
        return (name, try disk.fill())
    }

    @Test(.enabled(if: TemporaryFilesystem.isPossible))
    func resumeDataHasTheRangesOfThePreviousCheckpointIfTheLastOneFails() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 16)
        let bench = try EngineBench(in: disk.path)
        let gate = Gate(heldAt: 1_000_000)
        let (name, _) = try await fillDisk(disk, bench, gate)
        let checkpoints = try await bench.checkpoints(of: 1)
        checkpoints.suspend()
        // The file's last block has room for the next byte, but there is none for the checkpoint that must record it.
        gate.advance(to: 1_000_001)
        try await bench.waitUntilReceived(1, 1_000_001)
        let isInFlight = try await bench.onLoop { loop in
            loop.download(1)?.saveCheckpoint(synchronously: false)
            return loop.download(1).map { $0.checkpoints.isBusy && !$0.checkpoints.isBehind }
        }
        #expect(isInFlight == true)
        async let answer = bench.engine.cancelProducingResumeData(1)
        try await bench.wait("the task is cancelled") { bench.snapshots(1).last?.isTask == false }
        checkpoints.resume()
        let data = try #require(try await answer)
        #expect(data.present == "0-999999")
        #expect(try bench.engine.cache.checkpoint(of: name)?.receivedRanges.byteCount == 1_000_000)
    }

    @Test(.enabled(if: TemporaryFilesystem.isPossible))
    func aCheckpointThatCannotBeWrittenLeavesThePreviousOne() async throws {
        let disk = try await TemporaryFilesystem(mebibytes: 16)
        let bench = try EngineBench(in: disk.path)
        let gate = Gate(heldAt: 1_000_000)
        let (name, ballast) = try await fillDisk(disk, bench, gate)
        // The file's last block has room for the next byte, but there is none for the checkpoint that must record it.
        gate.advance(to: 1_000_001)
        try await bench.waitUntilReceived(1, 1_000_001)
        try await bench.wait("the download is suspended") { bench.snapshots(1).last?.state == .suspended }
        try await bench.wait("the full storage is reported") { bench.storageFailures.map(\.key) == [1] }
        #expect(try bench.engine.cache.checkpoint(of: name)?.receivedRanges.byteCount == 1_000_000)
        gate.open()
        bench.shutDown()
        let left = try ContentCache.checkpoint(of: name, in: FilePath(bench.cacheFolder))
        #expect(left?.receivedRanges.text == "0-999999")
        try FileManager.default.removeItem(atPath: ballast)
        try bench.start()
        try await bench.download(1, content)
        #expect(bench.source(1)?.generation == 1)
        #expect(bench.source(1)?.file == name)
    }
}
