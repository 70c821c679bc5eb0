import Foundation
import Glibc
import TestSupport
import Testing

/// Servers that abort, stall, or send a response that does not match the request.
@Suite(.timeLimit(.minutes(5))) struct TransferFaultTests {
    private static let size = 2_000_000
    private static let content = MountedShow.content(1, size: size)

    private static func show(stall: Int = 20, reader: Int = 60, giveUp: Int = 86_400) async throws -> MountedShow {
        try await MountedShow(
            episodes: 1, size: size, length: size,
            configuration: MountedShow.patience(stall: stall, reader: reader, giveUp: giveUp))
    }

    private static var resource: Resource { MountedShow.resource(1, size: size) }

    // MARK: Broken connections

    enum Break: String, CaseIterable {
        case close, stall, reset

        func after(_ position: Int) -> Behaviour {
            switch self {
            case .close: .close(after: position)
            case .stall: .stall(after: position)
            case .reset: .reset(after: position)
            }
        }
    }

    @Test(arguments: Break.allCases) func aBrokenTransferContinuesFromTheLastByte(_ fault: Break) async throws {
        // The timeout is short only if a stall is tested, because on a busy machine other transfers pause as well.
        let show = try await Self.show(stall: fault == .stall ? 1 : 20)
        show.server.serve("/1.mp3", Self.resource, [fault.after(1_000_000)])
        try await show.expectWhole(1, Self.content)
        let requests = show.requests(1)
        #expect(requests.count == 2)
        #expect(requests.last?.headers["If-Range"] == "\"episode-1\"")
        // A reset discards bytes that have arrived but were not read yet.
        let start = try #require(requests.last?.range?.firstByte)
        #expect(start > 0 && start <= 1_000_000)
        #expect(fault == .reset || start == 1_000_000)
        try await show.waitForNoTasks()
    }

    @Test func aFileOfAServerThatAbortsRepeatedlyIsReadToTheEnd() async throws {
        let show = try await Self.show()
        show.server.serve(
            "/1.mp3", Self.resource,
            [
                .close(after: 0), .close(after: 300_000), .reset(after: 300_000), .close(after: 1), .status(503),
                .retryAfter("1", status: 429),
            ])
        try await show.expectWhole(1, Self.content)
        #expect(show.requests(1).count == 7)
        #expect(show.server.bodyBytesWritten(for: "/1.mp3") <= Self.size + 300_000 + 100)
    }

    @Test func aReaderOfAStalledServerGivesUpAtItsDeadline() async throws {
        let show = try await Self.show(stall: 1, reader: 3)
        show.server.serve("/1.mp3", Self.resource) { .stall(after: $0.index == 0 ? 1_000_000 : 0) }
        let result = try await show.read(show.path(1))
        #expect(result.says(ETIMEDOUT), "\(result.error)")
        #expect(result.standardOutput.count <= 1_000_000 && result.standardOutput.count > 700_000)
        #expect(Self.content.matches(result.standardOutput))
        // The read has failed, the task has not.
        let state = try await show.attribute("state", of: show.path(1))
        #expect(state == "queued" || state == "running")
        #expect(
            try await show.attribute("error", of: show.path(1))?.isEmpty == false,
            "the error must be shown during the retries")
        #expect(try await show.attribute("bytes_received", of: show.path(1)) == "1000000")
        #expect(try await show.status().contains(" 0 failed"))
        // No byte is requested twice. The kernel reads ahead: the later one of two reads gives up a moment later, and a
        // retry between the two starts at its first byte.
        let starts = show.starts(1).dropFirst().map { $0 ?? 0 }
        #expect(starts.allSatisfy { $0 >= 1_000_000 }, "\(starts)")
        // The task resumes by itself once the server responds.
        show.server.serve("/1.mp3", Self.resource)
        try await show.waitForState("cached", of: show.path(1))
        try await show.expectWhole(1, Self.content)
        #expect(show.requests(1).filter { $0.range == nil }.count == 1)
    }

    @Test func aTaskThatGivesUpFails() async throws {
        let show = try await Self.show(giveUp: 1)
        show.server.serve("/1.mp3", Self.resource) { .close(after: $0.index == 0 ? 1_000_000 : 0) }
        let result = try await show.read(show.path(1))
        #expect(result.says(EIO), "\(result.error)")
        #expect(Self.content.matches(result.standardOutput))
        // The reason is available as soon as the read has failed.
        #expect(try await show.attribute("state", of: show.path(1)) == "failed")
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains("the server closed the connection early") ?? false, "\(error ?? "none")")
        let status = try await show.status()
        #expect(status.hasPrefix("0 running, 0 queued, 0 suspended, 1 failed"))
        #expect(status.contains(error ?? "no error"), "\(status)")
        // Reads now fail with the stored error, without a request.
        let count = show.requests(1).count
        #expect(try await show.read(show.path(1), 1_500_000..<1_500_010).says(EIO))
        #expect(show.requests(1).count == count)
        // Cached bytes stay readable, and the task can be resumed.
        let part = try await show.read(show.path(1), 10_000..<20_000)
        #expect(Self.content.matches(part.standardOutput, at: 10_000) && part.standardOutput.count == 10_000)
        show.server.serve("/1.mp3", Self.resource)
        try await show.home.run("resume", show.path(1)).succeeded()
        try await show.waitForState("cached", of: show.path(1))
        #expect(show.requests(1).last?.range?.firstByte == 1_000_000)
        try await show.expectWhole(1, Self.content)
    }

    @Test func aTaskThatGivesUpOnAStalledServerFails() async throws {
        let show = try await Self.show(stall: 1, giveUp: 2)
        show.server.serve("/1.mp3", Self.resource) { .stall(after: $0.index == 0 ? 1_000_000 : 0) }
        let result = try await show.read(show.path(1))
        #expect(result.says(ETIMEDOUT), "\(result.error)")
        try await show.waitForState("failed", of: show.path(1))
        #expect(try await show.attribute("error", of: show.path(1))?.isEmpty == false)
    }

    // MARK: Mismatching responses

    /// Possible second responses, after the first was aborted at 1,000,000 bytes, and the expected number of requests.
    private static let answers: [(says: String, behaviour: Behaviour, requests: Int)] = [
        ("200 with the whole", .ignoreRange(), 2),
        ("206 from 0", .contentRange("bytes 0-999999/2000000"), 3),
        ("206 from later", .contentRange("bytes 1000001-1999999/2000000"), 3),
        ("206 of another total", .wrongTotal("3000000"), 3),
        ("206 beyond its total", .wrongTotal("1500000"), 3),
        ("206 without Content-Range", .withoutContentRange(), 3),
        ("206 with nonsense", .contentRange("bytes x-y/z"), 3),
        ("206 in another unit", .contentRange("pages 1-2/3"), 3),
    ]

    /// Reads all files concurrently, since each read mostly waits for its next retry.
    @Test func aResponseToAnotherRequestIsNotAppended() async throws {
        let show = try await MountedShow(episodes: Self.answers.count, size: Self.size, length: Self.size)
        for (index, answer) in Self.answers.enumerated() {
            show.server.serve(
                "/\(index + 1).mp3", MountedShow.resource(index + 1, size: Self.size),
                [.close(after: 1_000_000), answer.behaviour])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...Self.answers.count {
                group.addTask { try await show.expectWhole(number, MountedShow.content(number, size: Self.size)) }
            }
            try await group.waitForAll()
        }
        for (index, answer) in Self.answers.enumerated() {
            let requests = show.requests(index + 1)
            #expect(requests.count == answer.requests, "\(answer.says)")
            #expect(requests[1].range?.firstByte == 1_000_000, "\(answer.says)")
            #expect(requests[1].headers["If-Range"] == "\"episode-\(index + 1)\"", "\(answer.says)")
            #expect(try await show.attribute("generation", of: show.path(index + 1)) == "1", "\(answer.says)")
        }
    }

    @Test func aServerThatSendsInvalidPartsIsAskedForTheWholeFile() async throws {
        let show = try await Self.show()
        show.server.serve("/1.mp3", Self.resource) {
            $0.index == 0 ? .close(after: 1_000_000) : $0.range == nil ? .normal : .withoutContentRange()
        }
        try await show.expectWhole(1, Self.content)
        #expect(show.requests(1).last?.range == nil)
        #expect(show.requests(1).count == 4)
    }

    @Test func aTailFromAServerWithoutRangesWaitsForTheStream() async throws {
        let show = try await Self.show()
        var plain = Self.resource
        plain.supportsRanges = false
        show.server.serve("/1.mp3", plain)
        let tail = try await show.read(show.path(1), Self.size - 4_096..<Self.size)
        #expect(tail.exitCode == 0 && tail.standardOutput.count == 4_096)
        #expect(Self.content.matches(tail.standardOutput, at: Self.size - 4_096))
        try await show.expectWhole(1, Self.content)
    }
}
