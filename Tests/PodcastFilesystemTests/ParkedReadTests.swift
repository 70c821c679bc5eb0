import Foundation
import Fuse
import Glibc
import PodcastFilesystem
import PodcastLibrary
import PodcastProtocol
import SystemPackage
import TestSupport
import Testing
import Transfers

/// Reads of bytes that are not cached yet. The filesystem parks such a read until the daemon answers with a grant.
struct ParkedReadTests {
    private let mounted: Mounted
    private let content = TestContent(seed: 8, size: 500_000)
    private let file: CacheFile
    private let node: NodeID
    private let id: EpisodeID

    /// The cache file contains all bytes; the daemon's grants decide which may be read.
    init() throws {
        // The mount runs this script as the daemon's program. It only waits for the socket of a test's `FakeDaemon`.
        mounted = try Mounted(
            script: """
                echo >> "$0.started"
                i=0
                while [ ! -S "${0%/*}/r/podfs/daemon.sock" ] && [ $i -lt 6000 ]; do sleep 0.01; i=$((i+1)); done
                """)
        try mounted.subscribe()
        file = try mounted.store(content, of: try mounted.episode(), complete: false)
        id = try mounted.episode().id
        node = try mounted.episodeNode()
    }

    private func open() async throws -> Fuse.FileHandle { try await mounted.open(node).handle() }

    private func expected(_ range: Range<Int>) -> RecordedAnswer { .bytes(content.bytes(in: range)) }

    // MARK: Answers

    /// Ranges of one cache file are never applied to another.
    @Test func aGrantOfAnotherFileIsNotJoinedToTheFirst() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let read = mounted.read(node, handle, 0, 4_096)
        daemon.answer(
            try #require(try await daemon.wait(for: .read).first), mounted.grant(file, content, present: 0..<4_096))
        #expect(try await read.answered() == expected(0..<4_096))
        let next = mounted.read(node, handle, 4_096, 4_096)
        let frame = try #require(try await daemon.wait(for: .read, count: 2).last)
        let other = Grant(generation: 1, total: 500_000, file: "ff00", present: ByteRanges(0..<500_000))
        daemon.answer(frame, other)
        #expect(try await next.answered() == .error(.staleNFSFileHandle))
        // Bytes of the first file remain readable.
        #expect(mounted.read(node, handle, 0, 4_096).answer == expected(0..<4_096))
    }

    @Test func aReadWaitsForItsBytes() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let read = mounted.read(node, handle, 100_000, 131_072)
        let frame = try #require(try await daemon.wait(for: .read).first)
        #expect(
            ReadRequest(payload: frame.payload)
                == ReadRequest(episode: id, generation: 1, range: 100_000..<231_072, takesHead: true))
        #expect(read.answer == nil)
        daemon.answer(frame, mounted.grant(file, content, present: 90_000..<300_000))
        #expect(try await read.answered() == expected(100_000..<231_072))
        // Granted bytes are read without another request.
        #expect(mounted.read(node, handle, 90_000, 100).answer == expected(90_000..<90_100))
        #expect(mounted.read(node, handle, 231_072, 68_928).answer == expected(231_072..<300_000))
        #expect(daemon.frames.count == 1)
        // One byte more needs a request.
        let next = mounted.read(node, handle, 231_072, 68_929)
        let second = try #require(try await daemon.wait(for: .read, count: 2).last)
        daemon.answer(second, mounted.grant(file, content))
        #expect(try await next.answered() == expected(231_072..<300_001))
        // The end of the file, and a read beyond it.
        #expect(mounted.read(node, handle, 499_990, 4_096).answer == expected(499_990..<500_000))
        #expect(mounted.readTail(node, handle, 500_000, 4_096) == .bytes([]))
        mounted.release(node, handle)
        #expect(daemon.frames.count == 2)
    }

    /// A grant that contains the first bytes of the episode and names no cache file.
    private var head: Grant {
        Grant(generation: 1, total: 500_000, file: nil, present: ByteRanges(), head: content.bytes(in: 0..<16_384))
    }

    @Test func theFirstBytesThatCameWithTheOpenAreReadAtOnce() async throws {
        let mounted = try Mounted()
        try mounted.subscribe(length: nil)
        let file = try ContentCache(directory: FilePath(mounted.paths.cache)).create(size: 500_000)
        try content.bytes.withUnsafeBytes { try file.write($0, at: 0) }
        let head = head
        let daemon = try await mounted.daemon { daemon, frame in
            if frame.kind == .open { daemon.answer(frame, head) }
        }
        let id = try mounted.episode().id
        let node = try mounted.episodeNode()
        let handle = try await mounted.open(node).handle()
        #expect(mounted.read(node, handle, 0, 4_096).answer == expected(0..<4_096))
        // The mount also sends that read to the daemon, to start the download and to learn the name of the cache file.
        let frame = try #require(try await daemon.wait(for: .read).first)
        #expect(ReadRequest(payload: frame.payload) == ReadRequest(episode: id, generation: 1, range: 0..<4_096))
        #expect(mounted.read(node, handle, 4_096, 12_288).answer == expected(4_096..<16_384))
        let more = mounted.read(node, handle, 4_096, 12_289)
        #expect(more.answer == nil)
        let second = try #require(try await daemon.wait(for: .read, count: 2).last)
        daemon.answer(frame, mounted.grant(file, content, present: 0..<16_384))
        daemon.answer(second, mounted.grant(file, content))
        #expect(try await more.answered() == expected(4_096..<16_385))
        #expect(mounted.read(node, handle, 0, 131_072).answer == expected(0..<131_072))
        mounted.release(node, handle)
        try await daemon.wait(for: .close)
        #expect(daemon.frames.count == 4)
    }

    @Test(arguments: [false, true]) func theFirstBytesInAnswerToAReadAreFollowedByTheFile(fails: Bool) async throws {
        // Remove the library's record of a cache file for the episode.
        try mounted.library.dropRendition(episode: id, now: 1_700_000_400)
        try mounted.library.confirm(episode: id, size: 500_000, now: 1_700_000_401)
        let generation = try mounted.episode().generation
        var head = head
        head.generation = generation
        let (first, whole) = (head, mounted.grant(file, content, generation: generation))
        let daemon = try await mounted.daemon { daemon, frame in
            switch daemon.frames.count(where: { $0.kind == .read }) {
            case 1: daemon.answer(frame, first)
            case 2 where fails: daemon.answer(frame, Failure(errorNumber: ENOSPC, message: "no"))
            default: daemon.answer(frame, whole)
            }
        }
        let node = NodeNumber(kind: .episode, generation: generation, row: id).node
        let handle = try await mounted.open(node).handle()
        let read = mounted.read(node, handle, 4_096, 4_096)
        #expect(try await read.answered() == expected(4_096..<8_192))
        // The mount sends the read again, so that the daemon starts the download and names the cache file.
        try await daemon.wait(for: .read, count: 2)
        // Bytes that are present remain readable.
        #expect(mounted.read(node, handle, 0, 16_384).answer == expected(0..<16_384))
        #expect(try await mounted.read(node, handle, 16_384, 4_096).answered() == expected(16_384..<20_480))
        #expect(try await mounted.read(node, handle, 0, 131_072).answered() == expected(0..<131_072))
    }

    @Test func manyReadsWaitAtOnceAndEachGetsItsOwnBytes() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let reads = (0..<1_000).map { mounted.read(node, handle, Int64($0 * 400), 400) }
        let frames = try await daemon.wait(for: .read, count: 1_000)
        #expect(reads.allSatisfy { $0.answer == nil })
        for frame in frames.shuffled() {
            let range = try #require(ReadRequest(payload: frame.payload)).range
            daemon.answer(frame, mounted.grant(file, content, present: Int(range.lowerBound)..<Int(range.upperBound)))
        }
        for (index, read) in reads.enumerated() {
            #expect(try await read.answered() == expected(index * 400..<index * 400 + 400))
        }
    }

    @Test func theFirstReadRevealsAnUnknownSize() async throws {
        let mounted = try Mounted()
        try mounted.subscribe(length: nil)
        let content = content
        let file = try ContentCache(directory: FilePath(mounted.paths.cache)).create(size: nil)
        try content.bytes.withUnsafeBytes { try file.write($0, at: 0) }
        let daemon = try await mounted.daemon { daemon, frame in
            guard frame.kind == .open else { return }
            daemon.answer(frame, Grant(generation: 1, total: nil, file: nil, present: ByteRanges()))
        }
        let node = try mounted.episodeNode()
        let handle = try await mounted.open(node).handle()
        let first = mounted.read(node, handle, 0, 1_000)
        var grant = mounted.grant(file, content, present: 0..<2_000)
        grant.total = nil
        daemon.answer(try #require(try await daemon.wait(for: .read).last), grant)
        #expect(try await first.answered() == .bytes(content.bytes(in: 0..<1_000)))
        // Once the daemon has received the last byte, it knows the size.
        let last = mounted.read(node, handle, 499_000, 4_096)
        daemon.answer(try #require(try await daemon.wait(for: .read, count: 2).last), mounted.grant(file, content))
        #expect(try await last.answered() == .bytes(content.bytes(in: 499_000..<500_000)))
        #expect(mounted.readTail(node, handle, 500_000, 4_096) == .bytes([]))
    }

    @Test(arguments: [ETIMEDOUT, EIO, ENODATA, EACCES, ESTALE, ENOSPC])
    func aFailureIsTheReadersError(number: Int32) async throws {
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.answer(frame, Failure(errorNumber: number, message: "no"))
        }
        let read = mounted.read(node, try await open(), 0, 4_096)
        #expect(try await read.answered() == .error(Errno(rawValue: number)))
        #expect(daemon.frames.count == 1)
    }

    @Test func bytesOfAnotherRenditionAreNeverServed() async throws {
        let grant = mounted.grant(file, content, generation: 2)
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in daemon.answer(frame, grant) }
        try await mounted.connect()
        let read = mounted.read(node, try await open(), 0, 4_096)
        #expect(try await read.answered() == .error(.staleNFSFileHandle))
        let podcast = try mounted.episode().podcast
        let name = RecordingNotifier.Message.entry(
            parent: NodeNumber(kind: .show, row: podcast).node, name: "2026-01-01 Episode 1.mp3")
        #expect(mounted.notifier.messages.count { $0 == name } == 1)
        #expect(daemon.frames.count == 1)
    }

    @Test(arguments: [false, true]) func aGrantWithoutTheFileOrTheRangeIsAnError(isHeld: Bool) async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let id = try mounted.episode().id
        try mounted.library.confirm(episode: id, size: 500_000, now: 1)
        let file =
            isHeld
            ? try mounted.store(content, of: try mounted.episode(), complete: false)
            : try ContentCache(directory: FilePath(mounted.paths.cache)).create(size: 500_000)
        let all = mounted.grant(file, content).present
        let answers: [(Grant, Errno)] = [
            // The first two grants do not name the episode's cache file; the third lacks the last byte of the read.
            (Grant(generation: 1, total: 500_000, file: nil, present: all), isHeld ? .staleNFSFileHandle : .ioError),
            (
                Grant(generation: 1, total: 500_000, file: "ff00", present: all),
                isHeld ? .staleNFSFileHandle : .noSuchFileOrDirectory
            ),
            (mounted.grant(file, content, present: 0..<4_095), .ioError),
        ]
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.answer(frame, answers[daemon.frames.count - 1].0)
        }
        let node = try mounted.episodeNode()
        for (grant, error) in answers {
            let handle = try await mounted.open(node).handle()
            let read = mounted.read(node, handle, 0, 4_096)
            #expect(try await read.answered() == .error(error), "\(grant)")
            mounted.release(node, handle)
        }
        #expect(daemon.frames.count == answers.count)
    }

    @Test func aFileShorterThanItsGrantIsAnErrorAndNotAnEnd() async throws {
        let mounted = try Mounted()
        try mounted.subscribe()
        let id = try mounted.episode().id
        try mounted.library.confirm(episode: id, size: 500_000, now: 1)
        let short = try ContentCache(directory: FilePath(mounted.paths.cache)).create(size: 1_000)
        let grant = mounted.grant(short, content)
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in daemon.answer(frame, grant) }
        try await mounted.connect()
        let node = try mounted.episodeNode()
        let read = mounted.read(node, try await mounted.open(node).handle(), 500, 4_096)
        #expect(try await read.answered() == .error(.ioError))
        #expect(daemon.frames.count == 1)
    }

    @Test func anAnswerThatCannotBeReadIsAnError() async throws {
        let daemon = try await mounted.daemon { daemon, frame in
            daemon.send(Frame(kind: .grant, number: frame.number, payload: [1, 2, 3]))
        }
        let read = mounted.read(node, try await open(), 0, 4_096)
        #expect(try await read.answered() == .error(.ioError))
        #expect(daemon.frames.count == 1)
    }

    // MARK: Interrupts and stopping

    @Test func anInterruptedReadIsAnsweredAndCancelled() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let (first, second) = (mounted.read(node, handle, 0, 4_096), mounted.read(node, handle, 4_096, 4_096))
        let frames = try await daemon.wait(for: .read, count: 2)
        first.interrupt()
        #expect(try await first.answered() == .error(.interrupted))
        let wanted = try #require(frames.first { ReadRequest(payload: $0.payload)?.range.lowerBound == 0 })
        #expect(try await daemon.wait(for: .cancel).map(\.number) == [wanted.number])
        // The second read still waits. The mount ignores the daemon's late answer to the interrupted read.
        #expect(second.answer == nil)
        for frame in frames { daemon.answer(frame, mounted.grant(file, content)) }
        #expect(try await second.answered() == expected(4_096..<8_192))
        second.interrupt()
        // The frames of a connection arrive in order, so a cancellation would arrive before this command.
        _ = mounted.setxattr(node, "user.podfs.task", "resume")
        try await daemon.wait(for: .command)
        #expect(first.answer == .error(.interrupted) && daemon.frames.count { $0.kind == .cancel } == 1)
    }

    @Test func aReadWhoseCallerIsGoneAlreadyIsCancelled() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let reply = RecordedReply()
        reply.interrupt()
        mounted.filesystem.read(reply.request(id: 1 << 40), node: node, handle: handle, offset: 0, size: 4_096)
        #expect(try await reply.answered() == .error(.interrupted))
        let frame = try #require(try await daemon.wait(for: .read).first)
        #expect(try await daemon.wait(for: .cancel).first?.number == frame.number)
    }

    @Test func stoppingAnswersEverythingThatWaits() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let reads = (0..<100).map { mounted.read(node, handle, Int64($0) * 4_096, 4_096) }
        let control = mounted.setxattr(node, "user.podfs.task", "resume")
        try await daemon.wait(for: .read, count: 100)
        mounted.filesystem.stop()
        for reply in reads + [control] { #expect(reply.answer == .error(.ioError)) }
        // A later read is answered at once.
        guard case .error = try await mounted.read(node, handle, 0, 4_096).answered() else {
            Issue.record("a read succeeded after the stop")
            return
        }
        try await waitUntil(description: "the link has disconnected") { !daemon.isConnected }
    }

    @Test func failingParkedReadsCancelsThemInTheDaemon() async throws {
        let daemon = try await mounted.daemon()
        let handle = try await open()
        let reads = (0..<10).map { mounted.read(node, handle, Int64($0) * 4_096, 4_096) }
        let frames = try await daemon.wait(for: .read, count: 10)
        mounted.filesystem.failParked()
        for read in reads { #expect(read.answer == .error(.ioError)) }
        let cancels = try await daemon.wait(for: .cancel, count: 10)
        #expect(Set(cancels.map(\.number)) == Set(frames.map(\.number)))
        #expect(mounted.link.isConnected)
    }

    // MARK: Daemons that die

    @Test func waitingRequestsAreSentToTheNextDaemon() async throws {
        let first = try await mounted.daemon()
        let handle = try await open()
        let reads = (0..<50).map { mounted.read(node, handle, Int64($0) * 4_096, 4_096) }
        try await first.wait(for: .read, count: 50)
        let gone = mounted.read(node, handle, 400_000, 4_096)
        try await first.wait(for: .read, count: 51)
        gone.interrupt()
        first.die()
        // The mount starts a daemon at once. The script that it runs waits for the socket of the second daemon.
        try await waitUntil(description: "a daemon is started") { mounted.wasStarted }
        #expect(reads.allSatisfy { $0.answer == nil })
        let grant = mounted.grant(file, content)
        let second = try FakeDaemon(mounted.paths) { daemon, frame in
            if frame.kind == .read { daemon.answer(frame, grant) }
        }
        for (index, read) in reads.enumerated() {
            #expect(try await read.answered() == expected(index * 4_096..<index * 4_096 + 4_096))
        }
        // The second daemon gets each of the 50 reads once, and the interrupted read not at all.
        #expect(second.frames.count == 50)
        #expect(gone.answer == .error(.interrupted))
    }

    @Test func withoutAnyDaemonAReadFailsAndTheNextTriesAgain() async throws {
        let mounted = try Mounted(script: "echo >> \"$0.started\"; echo no >&2; exit 1")
        try mounted.subscribe()
        let file = try mounted.store(content, of: try mounted.episode(), complete: false)
        let node = try mounted.episodeNode()
        let handle = try await mounted.open(node).handle()
        #expect(try await mounted.read(node, handle, 0, 4_096).answered() == .error(.ioError))
        let grant = mounted.grant(file, content)
        let daemon = try FakeDaemon(mounted.paths) { daemon, frame in daemon.answer(frame, grant) }
        let second = try await mounted.open(node).handle()
        let read = mounted.read(node, second, 0, 4_096)
        #expect(try await read.answered() == expected(0..<4_096))
        #expect(daemon.frames.count == 1)
    }
}
