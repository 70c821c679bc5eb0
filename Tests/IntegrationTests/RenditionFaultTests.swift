import Foundation
import Glibc
import TestSupport
import Testing

/// Episodes replaced on the server while they are read.
@Suite(.timeLimit(.minutes(5))) struct RenditionFaultTests {
    private static let size = 2_000_000
    private static let old = MountedShow.content(1, size: size)
    private static let new = TestContent(seed: 77, size: size)
    private static let longer = TestContent(seed: 78, size: 2_500_000)

    private static func show() async throws -> MountedShow {
        try await MountedShow(episodes: 1, size: size, length: size)
    }

    /// The change of the file after the first response was aborted.
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var before: Resource
        var after: Resource
        var content: TestContent
        /// The fault of the second response.
        var behaviour = Behaviour.normal
    }

    static let changes = [
        Change(
            testDescription: "another tag", before: Resource(old, etag: "\"a\""), after: Resource(new, etag: "\"b\""),
            content: new),
        Change(
            testDescription: "another tag and length", before: Resource(old, etag: "\"a\""),
            after: Resource(longer, etag: "\"b\""), content: longer),
        Change(
            testDescription: "another tag in a 206", before: Resource(old, etag: "\"a\""),
            after: Resource(old, etag: "\"a\""), content: old, behaviour: .header("ETag", "\"b\"")),
        Change(
            testDescription: "another length, no tag", before: Resource(old), after: Resource(longer), content: longer),
        Change(testDescription: "other bytes, no tag", before: Resource(old), after: Resource(new), content: new),
        Change(
            testDescription: "other bytes, no tag, no ranges", before: Resource(old), after: Resource(new),
            content: new, behaviour: .ignoreRange()),
        Change(
            testDescription: "other bytes, weak tag", before: Resource(old, etag: "W/\"a\""),
            after: Resource(new, etag: "W/\"a\""), content: new),
        Change(
            testDescription: "another date", before: Resource(old, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"),
            after: Resource(new, lastModified: "Mon, 07 Nov 1994 08:49:37 GMT"), content: new),
    ]

    @Test(arguments: changes) func aReadFailsIfTheFileIsReplaced(_ change: Change) async throws {
        let show = try await Self.show()
        let inode = try await ChildProcess.run("stat", ["-c", "%i", show.path(1)]).output
        show.server.serve("/1.mp3", change.before) { request in
            guard request.index == 0 else {
                let behaviour = request.index == 1 ? change.behaviour : .normal
                return behaviour.resource(change.after)
            }
            return .close(after: 1_000_000)
        }
        let result = try await show.read(show.path(1))
        #expect(result.says(ESTALE), "\(result.error), \(result.standardOutput.count) bytes")
        #expect(Self.old.matches(result.standardOutput), "a byte of the new rendition was read")
        #expect(result.standardOutput.count <= 1_000_000)
        try await show.expectWhole(1, change.content)
        #expect(try await show.attribute("generation", of: show.path(1)) == "2")
        #expect(try await ChildProcess.run("stat", ["-c", "%i", show.path(1)]).output == inode)
        #expect(try await ChildProcess.run("stat", ["-c", "%s", show.path(1)]).output == "\(change.content.size)\n")
    }

    @Test func cachedBytesOfTheOldRenditionStayReadable() async throws {
        let show = try await Self.show()
        let gate = Gate(heldAt: 1_000_000)
        show.server.serve("/1.mp3", Resource(Self.old, etag: "\"a\"")) {
            $0.index == 0 ? .hold(gate).close(after: 1_000_000) : .resource(Resource(Self.new, etag: "\"b\""))
        }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == 0)
        #expect(Self.old.matches(try await reader.read(0..<4_096).bytes))
        try await waitUntil(deadline: .seconds(60), description: "the first part is received") {
            try await show.attribute("bytes_received", of: show.path(1)) == "1000000"
        }
        gate.open()
        try await show.waitForState("cached", of: show.path(1))
        // These bytes were never read before, so they come from the old cache file and not from the page cache.
        let cached = try await reader.read(600_000..<610_000)
        #expect(cached.error == 0)
        #expect(cached.bytes.count == 10_000 && Self.old.matches(cached.bytes, at: 600_000))
        #expect(try await reader.read(1_200_000..<1_200_010).error == ESTALE)
        // The path refers to the new rendition.
        let part = try await show.read(show.path(1), 600_000..<610_000)
        #expect(part.standardOutput.count == 10_000 && Self.new.matches(part.standardOutput, at: 600_000))
        #expect(try await reader.read(600_000..<610_000).error == 0)
        try await show.expectWhole(1, Self.new)
    }

    @Test func aContradictingStatus416BeginsANewRendition() async throws {
        let show = try await Self.show()
        show.server.serve("/1.mp3", MountedShow.resource(1, size: Self.size)) {
            switch $0.index {
            case 0: .close(after: 1_000_000)
            case 1: .rangeNotSatisfiable(total: 900_000)
            default: .normal
            }
        }
        let result = try await show.read(show.path(1))
        #expect(result.says(ESTALE), "\(result.error)")
        #expect(Self.old.matches(result.standardOutput))
        try await show.expectWhole(1, Self.old)
        #expect(try await show.attribute("generation", of: show.path(1)) == "2")
    }

    @Test func status416ConfirmsThatAllBytesHaveArrived() async throws {
        let show = try await MountedShow(episodes: 1, size: Self.size, length: nil)
        var resource = MountedShow.resource(1, size: Self.size)
        resource.sendsLength = false
        // All bytes arrive, the final chunk does not.
        show.server.serve("/1.mp3", resource) {
            $0.index == 0 ? .chunked().close(after: Self.size) : .normal
        }
        let result = try await show.read(show.path(1)).succeeded()
        #expect(result.standardOutput.count == Self.size && Self.old.matches(result.standardOutput))
        try await show.expectWhole(1, Self.old)
        #expect(show.requests(1).map(\.status) == [200, 416])
        #expect(show.starts(1) == [nil, Self.size])
        #expect(try await show.attribute("generation", of: show.path(1)) == "1")
        #expect(try await ChildProcess.run("stat", ["-c", "%s", show.path(1)]).output == "\(Self.size)\n")
    }

    @Test func aDownloadFailsIfTheFileKeepsChanging() async throws {
        let show = try await Self.show()
        show.server.serve("/1.mp3", MountedShow.resource(1, size: Self.size)) {
            .header("ETag", "\"tag-\($0.index)\"").close(after: 500_000)
        }
        var result = try await show.read(show.path(1))
        for _ in 0..<10 where result.says(ESTALE) { result = try await show.read(show.path(1)) }
        #expect(result.says(EIO), "\(result.error)")
        try await show.waitForState("failed", of: show.path(1))
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains("the file keeps changing") ?? false, "\(error ?? "none")")
        #expect(show.requests(1).count < 20)
    }
}
