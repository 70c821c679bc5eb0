import Foundation
import Glibc
import TestSupport
import Testing

/// Servers that violate HTTP, or redirect to another host.
@Suite(.timeLimit(.minutes(5))) struct HostileServerTests {
    @Test(arguments: ["99999999999999999999", "9223372036854775807", "4611686018427387904", "17592186044417"])
    func anAbsurdLengthCausesNoWrongBytes(_ length: String) async throws {
        let show = try await MountedShow(episodes: 1, length: nil)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .contentLength(length) }
        // The read may succeed or fail with EIO. It neither waits for bytes that cannot arrive nor returns wrong bytes.
        let result = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(result.standardOutput))
        #expect(result.exitCode == 0 && result.standardOutput.count == 300_000 || result.says(EIO), "\(result.error)")
        let blocks = try await ChildProcess.run("du", ["-sk", show.home.cacheDirectory]).output
        #expect(Int(blocks.prefix { $0.isNumber }) ?? .max < 1_000)
    }

    @Test func aContentLengthThatIsTooLargeFailsTheRead() async throws {
        let show = try await MountedShow(
            episodes: 1, length: nil, configuration: MountedShow.patience(reader: 3, giveUp: 1))
        show.server.serve("/1.mp3", MountedShow.resource(1)) {
            $0.range == nil ? .contentLength("400000") : .normal
        }
        let result = try await show.read(show.path(1))
        #expect(MountedShow.content(1).matches(result.standardOutput))
        #expect(result.exitCode != 0, "an incomplete file must not be read as a whole one")
        #expect(try await show.attribute("state", of: show.path(1)) != "cached")
    }

    @Test func aContentLengthThatIsTooSmallEndsTheFile() async throws {
        let show = try await MountedShow(episodes: 1, length: nil)
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .contentLength("200000") }
        let result = try await show.read(show.path(1)).succeeded()
        #expect(result.standardOutput.count == 200_000 && MountedShow.content(1).matches(result.standardOutput))
    }

    @Test(arguments: [1, 1_000]) func aHeadOfAMebibyteIsRefused(_ fields: Int) async throws {
        let show = try await MountedShow(
            episodes: 1, length: nil, configuration: MountedShow.patience(reader: 3, giveUp: 1))
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .manyHeaders(fields, bytes: (1 << 20) / fields) }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == EIO)
        #expect(show.requests(1).count == 1, "the same head must not be requested again")
        try await show.waitForState("failed", of: show.path(1))
        let error = try await show.attribute("error", of: show.path(1))
        #expect(error?.contains("head") ?? false, "\(error ?? "none")")
        // The daemon still works.
        show.server.serve("/1.mp3", MountedShow.resource(1))
        try await show.home.run("download", show.path(1)).succeeded()
        try await show.expectWhole(1, MountedShow.content(1))
    }

    @Test func aHeadSentByteByByteTimesOut() async throws {
        let show = try await MountedShow(
            episodes: 1, length: nil, configuration: MountedShow.patience(stall: 1, reader: 3))
        // curl reports a stall only below one byte per second. The head arrives faster, so curl does not end the
        // request.
        show.server.serve("/1.mp3", MountedShow.resource(1)) { _ in .slowHead(bytesPerSecond: 10) }
        let reader = try await OpenFileReader(show.path(1))
        #expect(reader.openError == ETIMEDOUT)
        show.server.serve("/1.mp3", MountedShow.resource(1))
        try await show.expectWhole(1, MountedShow.content(1))
    }

    // MARK: Redirects

    @Test func credentialsInTheAddressStayWithTheirHost() async throws {
        let show = try await MountedShow(episodes: 1, isMounted: false)
        let other = HTTPTestServer()
        try other.start()
        other.serve("/real.mp3", MountedShow.resource(1)) { $0.index == 0 ? .close(after: 100_000) : .normal }
        show.server.serve("/private.mp3", MountedShow.resource(1)) { request in
            guard request.headers["Authorization"] != nil else { return .status(401) }
            return .redirect(to: other.url("/real.mp3", host: "localhost"))
        }
        let address = show.server.url("/private.mp3", host: "someone:secret-word@127.0.0.1")
        show.server.serveShow("Private Show", at: "/private.xml", episodes: 1) { _ in address }
        #expect(try await show.home.run("subscribe", show.server.url("/private.xml")).exitCode == 0)
        try await show.remount()
        let path = "\(show.mount.mountPoint)/Private Show/2026-01-01 Episode 1.mp3"
        let result = try await show.read(path).succeeded()
        #expect(MountedShow.content(1).matches(result.standardOutput) && result.standardOutput.count == 300_000)
        let asked = show.server.requests(for: "/private.mp3")
        #expect(asked.allSatisfy { $0.headers["Authorization"] == "Basic c29tZW9uZTpzZWNyZXQtd29yZA==" })
        #expect(other.requests.count >= 2)
        for request in other.requests {
            #expect(request.headers["Authorization"] == nil)
            #expect(request.headers["Referer"] == nil)
            #expect(!request.headers.fields.contains { $0.value.contains("secret-word") })
        }
        let attributes = try await ChildProcess.run("getfattr", ["-d", "-m", "-", path])
        #expect(attributes.output.contains("user.xdg.origin.url"))
        #expect(!attributes.output.contains("secret-word"))
        #expect(!(try await show.status()).contains("secret-word"))
        #expect(!(try await show.home.run("list", "Private Show", "--json").output).contains("secret-word"))
        let log = try String(contentsOfFile: "\(show.home.stateDirectory)/daemon.log", encoding: .utf8)
        #expect(!log.contains("secret-word"))
    }
}
