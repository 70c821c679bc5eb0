import Foundation
import Glibc
import TestSupport
import Testing

/// Servers that violate HTTP, redirect to another host, or have a self-signed certificate.
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
        let result = try await show.read(show.path(1))
        #expect(result.exitCode == 0, "\(result.error)")
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
        let again = try await show.home.run("download", show.path(1))
        #expect(again.exitCode == 0, "\(again.error)")
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
        let feed = FeedBuilder.show("Private Show", episodes: 1) { _ in address }
        show.server.serve("/private.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        #expect(try await show.home.run("subscribe", show.server.url("/private.xml")).exitCode == 0)
        try await show.remount()
        let path = "\(show.mount.mountPoint)/Private Show/2026-01-01 Episode 1.mp3"
        let result = try await show.read(path)
        #expect(result.exitCode == 0, "\(result.error)")
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

    // MARK: TLS

    @Test func aServerWithASelfSignedCertificateIsUnreachable() async throws {
        let folder = try TemporaryDirectory()
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                folder.file("key.pem"), "-out", folder.file("certificate.pem"),
            ])
        try #require(made.exitCode == 0, "\(made.error)")
        try folder.write("1.mp3", MountedShow.content(1).bytes)
        // Port 0: the server prints the port chosen by the kernel.
        let server = try ChildProcess(
            "sh",
            [
                "-c", "cd \"$0\" && exec openssl s_server -accept 127.0.0.1:0 -cert certificate.pem -key key.pem -WWW",
                folder.path,
            ])
        defer { server.kill() }
        try await server.waitForOutput("ACCEPT ")
        let line = try #require(server.output.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") })
        let port = try #require(line.split(separator: ":").last)
        let trusting = try await ChildProcess.run(
            "curl",
            [
                "-s", "--noproxy", "*", "--cacert", folder.file("certificate.pem"),
                "https://localhost:\(port)/1.mp3",
            ])
        #expect(
            MountedShow.content(1).matches(trusting.standardOutput),
            "a client that trusts the certificate gets the file")

        let show = try await MountedShow(episodes: 1, isMounted: false)
        let feed = FeedBuilder.show("Secure Show", episodes: 1) { _ in "https://localhost:\(port)/1.mp3" }
        show.server.serve("/secure.xml", Resource(text: feed.text, contentType: "application/rss+xml"))
        #expect(try await show.home.run("subscribe", show.server.url("/secure.xml")).exitCode == 0)
        try await show.remount()
        let path = "\(show.mount.mountPoint)/Secure Show/2026-01-01 Episode 1.mp3"
        let reader = try await OpenFileReader(path)
        #expect(reader.openError == EHOSTUNREACH)
        try await show.waitForState("failed", of: path)
        let error = try await show.attribute("error", of: path)
        #expect(
            error == "the certificate of localhost is not trusted: it is self-signed; transfers.ca_file can add it"
        )
    }
}
