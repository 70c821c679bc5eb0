import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import Transfers

@Suite struct ContentCacheTests {
    private let folder: TemporaryDirectory
    private let cache: ContentCache
    private let content = TestContent(seed: 5, size: 1_000_000)

    init() throws {
        folder = try TemporaryDirectory()
        cache = try ContentCache(directory: FilePath(folder.path))
    }

    private func write(_ range: Range<Int>, to file: CacheFile) throws {
        try content.bytes(in: range).withUnsafeBytes { try file.write($0, at: Int64(range.lowerBound)) }
    }

    /// Creates a file of 1,000,000 bytes, writes the bytes of `received`, and saves a checkpoint that has both ranges.
    private func makeFile(received: Range<Int64>, synced: Range<Int64>) throws -> CacheFile {
        let file = try cache.create(size: 1_000_000)
        try write(Int(received.lowerBound)..<Int(received.upperBound), to: file)
        var checkpoint = Checkpoint(key: 7, generation: 3)
        checkpoint.total = 1_000_000
        checkpoint.validator = "etag:\"v1\""
        checkpoint.finalURL = "https://example.org/ü"
        checkpoint.receivedRanges = RangeSet(received)
        checkpoint.syncedRanges = RangeSet(synced)
        try cache.save(checkpoint, of: file)
        return file
    }

    private func checkpointPath(_ name: String) -> String {
        ContentCache.path(of: name, in: cache.directory).string + ".json"
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func edit(_ name: String, _ change: (inout [String: Any]) -> Void) throws {
        let url = URL(fileURLWithPath: checkpointPath(name))
        var fields = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        change(&fields)
        try JSONSerialization.data(withJSONObject: fields).write(to: url)
    }

    // MARK: Files

    @Test func aNewFileIsSparsePrivateAndOfFullSize() throws {
        let file = try cache.create(size: 1 << 30)
        #expect(file.name.count == 32)
        #expect(file.path.string == "\(folder.path)/media/\(file.name.prefix(2))/\(file.name)")
        let status = try status(file.path.string)
        #expect(status.st_size == 1 << 30 && status.st_blocks == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try self.status("\(folder.path)/media").st_mode & 0o777 == 0o700)
    }

    @Test func bytesAreReadWhereTheyWereWritten() throws {
        let file = try cache.create(size: 1_000_000)
        try write(500_000..<600_000, to: file)
        try write(0..<1, to: file)
        let reader = try MediaReader(name: file.name, in: cache.directory)
        var bytes = [UInt8](repeating: 0, count: 100_000)
        #expect(try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 500_000) } == 100_000)
        #expect(content.matches(bytes, at: 500_000))
        #expect(try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 999_990) } == 10)
        #expect(try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 2_000_000) } == 0)
    }

    @Test func aFileGrowsToItsSizeAndNeverShrinks() throws {
        let file = try cache.create(size: nil)
        try write(0..<1_000, to: file)
        try file.extend(to: 5_000)
        try file.extend(to: 10)
        #expect(try status(file.path.string).st_size == 5_000)
    }

    @Test func digestsOfALargeFileMatchTheStandardTools() async throws {
        let file = try cache.create(size: nil)
        try write(0..<1_000_000, to: file)
        for algorithm in FileHash.Algorithm.allCases {
            let result = try await ChildProcess.run("\(algorithm)sum", [file.path.string])
            #expect(result.output.prefix { $0 != " " } == (try file.digest(algorithm, size: 1_000_000)))
        }
        #expect(throws: (any Error).self, "bytes that are not there have no digest") {
            try file.sha256(size: 1_000_001)
        }
    }

    // MARK: Checkpoints

    @Test func aFileOfTheSameBootKeepsAllThatWasReceived() throws {
        let name = try makeFile(received: 0..<300_000, synced: 0..<100_000).name
        let found = try #require(try cache.reopen(name))
        #expect(found.present == RangeSet(0..<300_000))
        #expect(found.checkpoint.key == 7)
        #expect(found.checkpoint.generation == 3)
        #expect(found.checkpoint.total == 1_000_000)
        #expect(found.checkpoint.validator == "etag:\"v1\"")
        #expect(found.checkpoint.finalURL == "https://example.org/ü")
        #expect(!found.checkpoint.complete)
        try write(300_000..<400_000, to: found.file)
        var bytes = [UInt8](repeating: 0, count: 400_000)
        #expect(try bytes.withUnsafeMutableBytes { try found.file.read(into: $0, at: 0) } == 400_000)
        #expect(content.matches(bytes))
    }

    @Test func afterAnotherBootOnlySyncedBytesAreTrusted() throws {
        let name = try makeFile(received: 0..<300_000, synced: 0..<100_000).name
        try edit(name) { $0["bootID"] = "another" }
        #expect(try #require(try cache.reopen(name)).present == RangeSet(0..<100_000))
    }

    @Test func rangesThatAreHolesAreNotTrusted() throws {
        let file = try cache.create(size: 1_000_000)
        try write(0..<65_536, to: file)
        var checkpoint = Checkpoint(key: 1, generation: 1)
        checkpoint.total = 1_000_000
        checkpoint.receivedRanges = RangeSet([0..<65_536, 200_000..<300_000, 999_000..<2_000_000])
        try cache.save(checkpoint, of: file)
        #expect(try #require(try cache.reopen(file.name)).present == RangeSet(0..<65_536))
    }

    @Test(arguments: ["", "{", "null", "{\"version\":1}", "not json", nil])
    func aDamagedOrMissingCheckpointDropsTheFile(text: String?) throws {
        let name = try makeFile(received: 0..<300_000, synced: 0..<100_000).name
        unlink(checkpointPath(name))
        try text.map { try Data($0.utf8).write(to: URL(fileURLWithPath: checkpointPath(name))) }
        #expect(try cache.reopen(name) == nil)
        #expect(cache.names() == [])
        #expect(!exists(checkpointPath(name)))
    }

    @Test func aCheckpointOfAnotherVersionIsIgnored() throws {
        let name = try makeFile(received: 0..<300_000, synced: 0..<100_000).name
        try edit(name) { $0["version"] = 2 }
        #expect(try cache.checkpoint(of: name) == nil)
    }

    @Test func aCheckpointOfAnotherFileIsNotTrusted() throws {
        let name = try makeFile(received: 0..<300_000, synced: 0..<300_000).name
        try edit(name) { $0["inode"] = 1 }
        #expect(try cache.reopen(name) == nil)
        #expect(cache.names() == [])
    }

    /// Some file systems have another device number at each mount, so a checkpoint contains none.
    @Test func aCheckpointContainsNoDeviceNumber() throws {
        let name = try makeFile(received: 0..<300_000, synced: 0..<300_000).name
        var fields: Set<String> = []
        try edit(name) { fields = Set($0.keys) }
        #expect(fields.contains("inode") && !fields.contains("device"))
    }

    @Test func aFileThatCannotBeExtendedIsRemoved() throws {
        cache.prepare()
        #expect(throws: Errno.self) { try cache.create(size: .max) }
        cache.removeReserve()
        #expect(throws: Errno.self) { try cache.create(size: .max) }
        #expect(cache.names() == [])
    }

    @Test func aFileOfAnotherSizeIsNotTrusted() throws {
        let file = try makeFile(received: 0..<300_000, synced: 0..<300_000)
        try file.extend(to: 1_000_001)
        #expect(try cache.reopen(file.name) == nil)
    }

    private func filesInReserve() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: cache.directory.string).filter { $0 != "media" }.sorted()
    }

    @Test func theReserveIsUsedUpAndRefilled() throws {
        #expect(cache.isLowOnFiles)
        cache.prepare()
        #expect(!cache.isLowOnFiles)
        #expect(try filesInReserve().count == 16)
        cache.prepare()
        #expect(try filesInReserve().count == 16)
        var names: [String] = []
        for number in 0..<20 as Range<Int64> {
            let file = try cache.create(size: number * 1_000)
            try cache.save(Checkpoint(key: MediaID(number), generation: 1), of: file, isFirst: true)
            names.append(file.name)
            if number < 8 { #expect(try filesInReserve().count == 14 - 2 * Int(number)) }
            let status = try status(file.path.string)
            #expect(status.st_size == number * 1_000 && status.st_blocks == 0 && status.st_mode & 0o7777 == 0o600)
            #expect(file.path == ContentCache.path(of: file.name, in: cache.directory))
            try write(Int(number)..<Int(number) + 10, to: file)
            #expect(try cache.checkpoint(of: file.name)?.key == MediaID(number))
            if cache.isLowOnFiles, number == 10 { cache.prepare() }
        }
        #expect(Set(names).count == 20)
        #expect(cache.names() == names.sorted())
        cache.prepare()
        cache.removeReserve()
        #expect(try filesInReserve() == [])
        for name in names { #expect(try cache.reopen(name) != nil) }
    }

    @Test func filesAreCreatedWithoutAReserve() throws {
        cache.prepare()
        for name in try filesInReserve() { unlink(cache.directory.appending(name).string) }
        for number in 0..<3 as Range<Int64> {
            let file = try cache.create(size: 10)
            try cache.save(Checkpoint(key: MediaID(number), generation: 1), of: file, isFirst: true)
            try cache.save(Checkpoint(key: MediaID(number), generation: 2), of: file)
            #expect(try cache.checkpoint(of: file.name)?.generation == 2)
        }
        // A file is created even if the folder of the media files was removed.
        cache.prepare()
        try FileManager.default.removeItem(atPath: cache.directory.appending("media").string)
        let file = try cache.create(size: 10)
        #expect(exists(file.path.string))
        #expect(cache.names() == [file.name])
    }

    @Test func checkpointsReuseTheSameFiles() throws {
        var inodes: Set<ino_t> = []
        let files = try (0..<4 as Range<Int64>).map { number in
            let file = try cache.create(size: 1_000)
            try cache.save(Checkpoint(key: MediaID(number), generation: 1), of: file, isFirst: true)
            inodes.insert(try status(checkpointPath(file.name)).st_ino)
            return file
        }
        for generation in 2...5 {
            for (number, file) in files.enumerated() {
                var checkpoint = Checkpoint(key: MediaID(Int64(number)), generation: generation)
                // Each checkpoint is shorter than the one whose file it overwrites. No byte of the old one may remain.
                checkpoint.finalURL = String(repeating: "x", count: (7 - generation) * 100 + number)
                try cache.save(checkpoint, of: file, durably: generation.isMultiple(of: 2))
                inodes.insert(try status(checkpointPath(file.name)).st_ino)
                #expect(try cache.checkpoint(of: file.name)?.generation == generation)
                #expect(try cache.checkpoint(of: file.name)?.finalURL == checkpoint.finalURL)
            }
        }
        // One checkpoint for each file, and one spare.
        #expect(inodes.count == 5)
        #expect(try filesInReserve() == ["checkpoint.5"])
        #expect(cache.names() == files.map(\.name).sorted())
        try cache.save(Checkpoint(key: 0, generation: 6), of: files[0])
        #expect(try cache.checkpoint(of: files[0].name)?.generation == 6)
    }

    @Test func aCheckpointOfARemovedFileLeavesNothing() throws {
        let file = try makeFile(received: 0..<300_000, synced: 0..<100_000)
        let checkpoint = try #require(try cache.checkpoint(of: file.name))
        cache.remove(file.name)
        try cache.save(checkpoint, of: file)
        #expect(!exists(checkpointPath(file.name)))
        #expect(cache.names() == [])
    }

    @Test func leftoversOfAKilledProcessAreRemoved() throws {
        let kept = try makeFile(received: 0..<1_000, synced: 0..<0)
        let orphan = try makeFile(received: 0..<1_000, synced: 0..<0)
        unlink(orphan.path.string)
        #expect(cache.names() == [kept.name])
        #expect(!exists(checkpointPath(orphan.name)))
        #expect(try cache.reopen(kept.name) != nil)
    }

    // MARK: Leases

    @Test func aFileWithAReaderIsNotEvicted() throws {
        let name = try makeFile(received: 0..<1_000, synced: 0..<0).name
        var reader: MediaReader? = try MediaReader(name: name, in: cache.directory)
        let second = try MediaReader(name: name, in: cache.directory)
        #expect(!cache.evict(name))
        #expect(cache.names() == [name])
        reader = nil
        #expect(reader == nil)
        #expect(!cache.evict(name), "the second reader is still there")
        withExtendedLifetime(second) {}
    }

    @Test(arguments: [true, false]) func aReaderKeepsTheBytesOfAFileThatIsGone(takesLease: Bool) throws {
        let name = try makeFile(received: 0..<1_000, synced: 0..<0).name
        let reader = try MediaReader(name: name, in: cache.directory, expecting: .file, takesLease: takesLease)
        if takesLease { cache.remove(name) } else { #expect(cache.evict(name)) }
        #expect(cache.names() == [])
        var bytes = [UInt8](repeating: 0, count: 1_000)
        #expect(try bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) } == 1_000)
        #expect(content.matches(bytes))
    }

    @Test func aClosedFileIsEvictedWhileAProcessIsBeingStarted() async throws {
        let file = try makeFile(received: 0..<1_000, synced: 0..<0)
        var reader: MediaReader? = try MediaReader(name: file.name, in: cache.directory)
        withExtendedLifetime(reader) {}
        let process = try await UnfinishedSpawn()
        #expect(!cache.evict(file.name))
        reader = nil
        #expect(cache.evict(file.name))
        #expect(await process.finish() == 0)
    }

    @Test func aFileWithoutAReaderIsEvictedWithItsCheckpoint() throws {
        let name = try makeFile(received: 0..<1_000, synced: 0..<0).name
        do { _ = try MediaReader(name: name, in: cache.directory) }
        #expect(cache.evict(name))
        #expect(cache.names() == [])
        #expect(!exists(checkpointPath(name)))
        #expect(throws: Errno.noSuchFileOrDirectory) { try MediaReader(name: name, in: cache.directory) }
        #expect(cache.evict(name), "a missing file counts as evicted")
    }
}
