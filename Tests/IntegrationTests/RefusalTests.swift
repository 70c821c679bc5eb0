import Foundation
import Glibc
import TestSupport
import Testing

/// Errors of servers that refuse a file, have lost it, or send something else. If the size is not known, the open
/// requests the file and fails with the error. If the size is known, the open succeeds and the first read fails.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    /// A server's behavior, and the expected error.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var behaviour: Behaviour
        var code: Int32
        var says: String

        init(_ behaviour: Behaviour, _ code: Int32, says: String) {
            self.behaviour = behaviour
            self.code = code
            self.says = says
            testDescription = says
        }
    }

    private static func page(_ text: String, _ type: String) -> Behaviour {
        .resource(Resource(text: text, contentType: type))
    }

    static let refusals = [
        Refusal(.status(401), EACCES, says: "the server answered 401"),
        Refusal(.status(403), EACCES, says: "the server answered 403"),
        Refusal(.status(404), ENODATA, says: "the server answered 404"),
        Refusal(.status(410), ENODATA, says: "the server answered 410"),
        Refusal(.status(451), EIO, says: "the server answered 451"),
        Refusal(
            page("<html>Log in</html>", "text/html; charset=utf-8"), EIO,
            says: "the server sent a web page instead of media"),
        Refusal(page("{\"error\":1}", "application/json"), EIO, says: "the server sent JSON instead of media"),
        Refusal(
            page("<e/>", "application/problem+xml"), EIO, says: "the server sent an XML document instead of media"),
        Refusal(.gzipLabelled(), EIO, says: "Content-Encoding gzip"),
        Refusal(.contentLength("-5"), EIO, says: "the server's answer is not HTTP"),
        Refusal(.redirect(to: "file:///etc/passwd"), EIO, says: "not http or https"),
        Refusal(.redirect(to: "ftp://127.0.0.1/1.mp3"), EIO, says: "not http or https"),
        Refusal(.redirect(to: "/1.mp3"), EIO, says: "redirects form a loop"),
    ]

    @Test(arguments: refusals) func refusalFailsTheOpen(_ refusal: Refusal) async throws {
        let show = try await MountedShow(episodes: 1, length: nil)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in refusal.behaviour }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == refusal.code)
        try await expectFailure(refusal, show)
        // The daemon remembers the failure: the second open fails without a request.
        let count = show.requests(1).count
        #expect(try await show.read(show.path(1)).says(refusal.code))
        #expect(show.requests(1).count == count)
        try await expectRecovery(show)
    }

    @Test(arguments: refusals) func refusalFailsTheReadIfTheSizeIsKnown(_ refusal: Refusal) async throws {
        let show = try await MountedShow(episodes: 1)
        try await show.confirmSize(of: show.path(1))
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in refusal.behaviour }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == 0)
        let reading = try await reader.read(0..<4_096)
        #expect(reading.error == refusal.code)
        #expect(reading.bytes.isEmpty)
        try await expectFailure(refusal, show)
        let status = try await show.status()
        #expect(status.hasPrefix("0 running, 0 queued, 0 suspended, 1 failed"), "\(status)")
        #expect(status.contains(refusal.says), "\(status)")
        try await expectRecovery(show)
    }

    private func expectFailure(_ refusal: Refusal, _ show: MountedShow) async throws {
        // The reason is available as soon as the open or the read has failed.
        #expect(try await show.attribute("state", of: show.path(1)) == "failed")
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains(refusal.says) ?? false, "\(error ?? "none")")
        #expect(try await show.attribute("bytes_received", of: show.path(1)) == "0")
    }

    /// Makes the server permit the file, and checks that it can be fetched.
    private func expectRecovery(_ show: MountedShow) async throws {
        show.server.serve("/1.mp3", MountedShow.resource(1))
        try await show.home.run("download", show.path(1)).succeeded()
        try await show.expectWhole(1, MountedShow.content(1))
    }

    /// A refused open creates no task, so the next daemon does not know of its error.
    @Test func cancelRemovesTheErrorOfARefusedOpenEvenInTheNextDaemon() async throws {
        let show = try await MountedShow(episodes: 2, length: nil)
        for number in 1...2 {
            show.server.serve("/\(number).mp3", MountedShow.resource(number)) { _ in .status(404) }
            #expect(try await OpenFileReader(show.path(number)).openError == ENODATA)
            try await show.waitForState("failed", of: show.path(number))
            #expect(try await show.attribute("error", of: show.path(number)) == "the server answered 404")
        }
        for number in 1...2 {
            if number == 2 {
                try await show.home.endDaemon()
            }
            try await ChildProcess.run(
                "setfattr", ["-n", "user.podfs.task", "-v", "cancel", show.path(number)]
            ).succeeded()
            try await show.waitForState("remote", of: show.path(number))
            #expect(try await show.attribute("error", of: show.path(number)) == nil)
        }
    }

    @Test func aPageUnderAMediaTypeIsNotStored() async throws {
        let show = try await MountedShow(episodes: 1, length: nil)
        show.server.serve("/1.mp3", Resource(text: "<!DOCTYPE html><html>Log in</html>", contentType: "audio/mpeg"))
        let result = try await show.read(show.path(1))
        #expect(result.says(EIO), "\(result.error)")
        #expect(result.standardOutput.isEmpty)
        try await show.waitForState("failed", of: show.path(1))
        #expect(try await show.attribute("error", of: show.path(1)) == "the server sent a web page instead of media")
        #expect(try await show.attribute("bytes_received", of: show.path(1)) == "0")
    }

    // MARK: No answer

    @Test func aServerThatIsGoneIsUnreachableAtOpen() async throws {
        let show = try await MountedShow(episodes: 1, length: nil)
        show.server.stop()
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == EHOSTUNREACH)
        try await show.waitForState("failed", of: show.path(1))
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains("couldn't connect") ?? false, "\(error ?? "none")")
        try show.server.start()
        try await show.expectWhole(1, MountedShow.content(1))
    }

    @Test func aServerThatIsGoneIsUnreachableAtTheRead() async throws {
        let show = try await MountedShow(episodes: 1, configuration: MountedShow.patience(reader: 2))
        try await show.confirmSize(of: show.path(1))
        show.server.stop()
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == 0)
        #expect(try await reader.read(0..<4_096).error == EHOSTUNREACH)
        // The task waits for the server, and completes when it is up again.
        #expect(try await show.attribute("state", of: show.path(1)) == "queued")
        try show.server.start()
        try await show.waitForState("cached", of: show.path(1))
        try await show.expectWhole(1, MountedShow.content(1))
    }

    @Test func aHostWhoseNameDoesNotResolveIsUnreachable() async throws {
        let show = try await MountedShow(episodes: 1, length: nil)
        show.server.serve("/1.mp3") { _ in .redirect(to: "http://podfs.invalid/1.mp3") }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == EHOSTUNREACH)
    }

    @Test func aServerThatDoesNotAnswerTimesOutAtOpen() async throws {
        let show = try await MountedShow(
            episodes: 1, length: nil, configuration: MountedShow.patience(stall: 1, reader: 3))
        let gate = Gate(heldAt: 0)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .holdHead(gate) }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == ETIMEDOUT)
        try await show.waitForState("failed", of: show.path(1))
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains("nothing arrived for 3 s") ?? false, "\(error ?? "none")")
        show.server.serve("/1.mp3", MountedShow.resource(1))
        try await show.expectWhole(1, MountedShow.content(1))
    }

    @Test func aServerThatDoesNotAnswerTimesOutAtTheRead() async throws {
        let show = try await MountedShow(episodes: 1, configuration: MountedShow.patience(stall: 1, reader: 2))
        try await show.confirmSize(of: show.path(1))
        let gate = Gate(heldAt: 0)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .holdHead(gate) }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == 0)
        #expect(try await reader.read(0..<4_096).error == ETIMEDOUT)
        show.server.serve("/1.mp3", MountedShow.resource(1))
        try await show.waitForState("cached", of: show.path(1))
        try await show.expectWhole(1, MountedShow.content(1))
    }
}
