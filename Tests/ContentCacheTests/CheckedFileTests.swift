import CLinux
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import Transfers

/// Tests of the checks that a cache file must pass before it is served, and of failed syncs.
@Suite struct CheckedFileTests {
    private let folder: TemporaryDirectory
    private let cache: ContentCache
    private let content = TestContent(seed: 9, size: 200_000)

    init() throws {
        folder = try TemporaryDirectory()
        cache = try ContentCache(directory: FilePath(folder.path))
    }

    /// Creates a complete file with a checkpoint like the engine's.
    private func makeWhole() throws -> (name: String, checkpoint: Checkpoint) {
        let file = try cache.create(size: 200_000)
        try content.bytes.withUnsafeBytes { try file.write($0, at: 0) }
        try file.synchronize(knownFailures: 0)
        var checkpoint = Checkpoint(key: 7, generation: 3)
        checkpoint.total = 200_000
        checkpoint.receivedRanges = RangeSet(0..<200_000)
        checkpoint.syncedRanges = RangeSet(0..<200_000)
        checkpoint.complete = true
        checkpoint.sha256 = try file.sha256(size: 200_000)
        try cache.save(checkpoint, of: file, durably: true)
        return (file.name, checkpoint)
    }

    private func path(_ name: String) -> String { ContentCache.path(of: name, in: cache.directory).string }

    private func defect(of name: String, expecting expectation: CacheExpectation) -> CacheFileDefect? {
        let found = cache.defect(of: name, expecting: expectation)
        // A reader gets the same result.
        let reader = Result { try MediaReader(name: name, in: cache.directory, expecting: expectation) }
        switch reader {
        case .success: #expect(found == nil)
        case .failure(let error): #expect(error as? CacheFileDefect == found)
        }
        return found
    }

    private static func expected(_ tampering: Tampering) -> CacheFileDefect {
        switch tampering {
        case .truncated: .wrongSize(found: 199_999, expected: 200_000)
        case .emptied: .wrongSize(found: 0, expected: 200_000)
        case .extended: .wrongSize(found: 200_001, expected: 200_000)
        case .punched, .zeroed, .overwritten, .forged, .replaced, .copied, .touched, .named: .changed
        case .linked, .folder, .pipe: .notAFile
        case .removed: .missing
        }
    }

    @Test(arguments: Tampering.allCases)
    func aFileWithADifferentStateIsNotTrusted(tampering: Tampering) async throws {
        let (name, checkpoint) = try makeWhole()
        let state = try #require(try cache.checkpoint(of: name)?.state)
        let whole = CacheExpectation.recorded(state, size: 200_000)
        #expect(defect(of: name, expecting: whole) == nil)
        try await tampering.apply(to: path(name))
        #expect(defect(of: name, expecting: whole) == Self.expected(tampering))
        // A weaker expectation detects fewer defects. A missing file, a link, a folder or a pipe is always
        // detected.
        let isOdd = [.linked, .folder, .pipe, .removed].contains(tampering)
        #expect((defect(of: name, expecting: .file) != nil) == isOdd)
        let isCut = [.truncated, .emptied, .extended].contains(tampering)
        #expect((defect(of: name, expecting: .size(200_000)) != nil) == (isOdd || isCut))
        // `verify` ignores the recorded state. It checks the kind of the file, the size and then the digest, and writes
        // a new checkpoint if all are right.
        if isOdd || isCut {
            #expect(throws: Self.expected(tampering)) { try cache.verify(name, checkpoint) }
        } else if tampering.isHarmless {
            let fresh = try cache.verify(name, checkpoint)
            #expect(defect(of: name, expecting: .recorded(fresh, size: 200_000)) == nil)
            #expect(try cache.reopen(name)?.present == RangeSet(0..<200_000))
        } else {
            #expect(throws: CacheFileDefect.wrongContent) { try cache.verify(name, checkpoint) }
        }
    }

    @Test(arguments: Tampering.allCases.filter { $0 != .folder })
    func theWriterDropsAFileWithADifferentState(tampering: Tampering) async throws {
        let (name, _) = try makeWhole()
        let (other, _) = try makeWhole()
        try await tampering.apply(to: path(name))
        #expect(try cache.reopen(name) == nil)
        #expect(cache.names() == [other])
        #expect(try cache.reopen(other)?.present == RangeSet(0..<200_000))
        // The target of a link does not belong to the cache, so it is not removed.
        if tampering == .linked { #expect(FileManager.default.fileExists(atPath: path(name) + ".copy")) }
    }

    /// Opening may fail for a temporary reason, such as a lack of descriptors or memory. Here an
    /// F_SETLEASE lease (fcntl(2)) makes open(2) fail. A reader's lease is something else: a lock of the file.
    @Test func aFileThatCannotBeOpenedNowIsNotRemoved() throws {
        let (name, _) = try makeWhole()
        for path in [path(name), path(name) + ".json"] {
            let lease = try FileLease(path)
            #expect(throws: CacheFileDefect.unreadable(code: EAGAIN)) { try cache.reopen(name) }
            #expect(cache.hasReader(name) == (path == self.path(name)), "it may have a reader")
            #expect(path == self.path(name) ? !cache.evict(name) : cache.names() == [name])
            lease.release()
        }
        #expect(try cache.reopen(name)?.present == RangeSet(0..<200_000))
        #expect(!cache.hasReader(name))
    }

    @Test func aCheckpointThatCannotBeWrittenIsNotADefectOfTheContent() throws {
        let (name, checkpoint) = try makeWhole()
        // Folders with the names of the next temporary files, so that writing a checkpoint fails with EISDIR.
        for number in 1...20 {
            let path = cache.directory.string + "/checkpoint.\(number)"
            unlink(path)
            try #require(mkdir(path, 0o700) == 0)
        }
        #expect(throws: CacheFileDefect.checkpointNotWritten(code: EISDIR)) { try cache.verify(name, checkpoint) }
        #expect(CacheFileDefect.checkpointNotWritten(code: ENOSPC).isTransient, "the file is not removed")
        #expect(try cache.reopen(name)?.present == RangeSet(0..<200_000))
    }

    /// `verify` records the state that the file had before it was read, so that a write during the read shows as a
    /// change. This test repeats the steps of `verify`, with such a write.
    @Test func aFileChangedDuringItsVerificationIsNotTrusted() throws {
        let (name, checkpoint) = try makeWhole()
        let file = try #require(try cache.reopen(name)).file
        let before = try file.currentState()
        try [UInt8](repeating: 1, count: 100).withUnsafeBytes { try file.write($0, at: 50_000) }
        try cache.save(checkpoint, of: file, durably: true, state: before)
        #expect(try cache.reopen(name) == nil)
    }

    @Test func aFailedSyncIsRememberedUntilItsBytesWereDiscarded() throws {
        let pipe = try FileDescriptor.pipe()
        defer { try? pipe.writeEnd.close() }
        let file = CacheFile(name: "a", path: "a", descriptor: pipe.readEnd)
        #expect(throws: Errno.invalidArgument) { try file.synchronize(knownFailures: 0) }
        // Replaces the pipe behind the descriptor by a regular file, which can be synced. The sync still fails, because
        // `file` remembers that the first one failed.
        let whole = try FileDescriptor.open(
            FilePath(folder.file("whole")), .readWrite, options: [.create, .closeOnExec],
            permissions: [.ownerReadWrite])
        defer { try? whole.close() }
        _ = try whole.duplicate(as: pipe.readEnd)
        #expect(throws: Errno.ioError) { try file.synchronize(knownFailures: 0) }
        #expect(file.failedSyncs == 1)
        try file.synchronize(knownFailures: 1)
    }

    @Test func aFileWithoutARecordedStateCountsAsChanged() throws {
        let (name, _) = try makeWhole()
        #expect(defect(of: name, expecting: .recorded(nil, size: 200_000)) == .changed)
        #expect(defect(of: name, expecting: .recorded(nil, size: 9)) == .wrongSize(found: 200_000, expected: 9))
    }

    @Test func aFileStoredWithHolesIsNotTreatedAsChanged() throws {
        let file = try cache.create(size: 1 << 20)
        try content.bytes.withUnsafeBytes { try file.write($0, at: 0) }
        var checkpoint = Checkpoint(key: 1, generation: 1)
        checkpoint.total = 1 << 20
        checkpoint.sha256 = try file.sha256(size: 1 << 20)
        let state = try cache.verify(file.name, checkpoint)
        #expect(state.allocated < state.size)
        #expect(defect(of: file.name, expecting: .recorded(state, size: 1 << 20)) == nil)
    }

    @Test func fileStatesAreReadBackFromTheirText() throws {
        let states = [
            FileState(inode: 0, modified: 0, size: 0, allocated: 0, changed: 0),
            FileState(inode: .max, modified: .min, size: .max, allocated: .max, changed: .max),
            FileState(inode: 12, modified: 1, size: 10, allocated: 4, changed: 1_700_000_000_123_456_789),
            FileState(inode: 12, modified: 1, size: 10, allocated: 4, changed: .min),
        ]
        for state in states { #expect(FileState(text: state.text) == state) }
        for text in [
            "", "1 2 3", "1 2 3 4 5", "1 2 3 3", "-1 2 3 3 4", "1 2 -3 -3 4", "1 2 3 -1 4", "1 2 x 1 4", " 1 2 3 3 4",
        ] {
            #expect(FileState(text: text) == nil, "\(text)")
        }
    }

    /// An mtime that is too large for an `Int64` of nanoseconds, and a pipe in place of the checkpoint.
    @Test func anExtremeTimeAndAPipeAreTolerated() async throws {
        let (name, checkpoint) = try makeWhole()
        #expect(
            utimensat(
                AT_FDCWD, path(name), [timespec(tv_sec: 1 << 40, tv_nsec: 0), timespec(tv_sec: 1 << 40, tv_nsec: 0)], 0)
                == 0)
        #expect(try cache.verify(name, checkpoint).size == 200_000)
        try await Tampering.pipe.apply(to: path(name) + ".json")
        #expect(try cache.checkpoint(of: name) == nil)
    }
}
