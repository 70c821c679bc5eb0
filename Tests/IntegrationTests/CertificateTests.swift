import Foundation
import TestSupport
import Testing

/// The certificate authorities that podfs trusts, and its errors for servers whose certificates it rejects.
@Suite(.timeLimit(.minutes(5))) struct CertificateTests {
    private func subscribe(
        to url: String, environment: [String: String] = [:], configuration: String = ""
    ) async throws -> ChildProcess.Result {
        let home = try PodfsHome(environment: environment)
        if !configuration.isEmpty { try home.configure(configuration) }
        return try await home.run("subscribe", url)
    }

    @Test func aPrivateAuthorityCanBeConfigured() async throws {
        let server = try await SecureServer(names: ["DNS:localhost"])
        let feed = FeedBuilder.show("Show", episodes: 1) { _ in server.url("/1.mp3") }
        try server.write("feed.xml", Array(feed.text.utf8))
        let url = server.url("/feed.xml")
        let says = "the certificate of localhost is not trusted: "
        let unknown = try await subscribe(to: url)
        #expect(unknown.exitCode == 1 && unknown.error.contains(says + "its authority is not known here"))
        try await subscribe(to: url, configuration: "[transfers]\nca_file = \"\(server.authority)\"\n").succeeded()
        try await subscribe(to: url, environment: ["SSL_CERT_FILE": server.authority]).succeeded()
        let absent = try await subscribe(to: url, environment: ["SSL_CERT_FILE": "/nowhere.pem"])
        #expect(absent.error.contains("there are no certificate authorities (/nowhere.pem)"), "\(absent.error)")
    }

    @Test func theErrorNamesHostAndReason() async throws {
        let other = try await SecureServer(names: ["DNS:other.example"])
        let trust = { (server: SecureServer) in "[transfers]\nca_file = \"\(server.authority)\"\n" }
        let named = try await subscribe(to: other.url("/feed.xml"), configuration: trust(other))
        #expect(named.error.contains("the certificate of localhost is not trusted: it is for another host"))
        let old = try await SecureServer(names: ["DNS:localhost"], validity: ["-days", "-1"])
        let expired = try await subscribe(to: old.url("/feed.xml"), configuration: trust(old))
        #expect(expired.error.contains("the certificate of localhost is not trusted: it has expired, or the clock"))
    }

    @Test func aFileWithoutCertificatesIsRejected() async throws {
        let home = try PodfsHome()
        let file = try home.directory.write("key.pem", text: "-----BEGIN PRIVATE KEY-----\n")
        for (value, reason) in [
            (file, "it contains no certificate in PEM format"), ("/nowhere.pem", "No such file or directory"),
        ] {
            try home.configure("[transfers]\nca_file = \"\(value)\"\n")
            let result = try await home.run("subscribe", "http://127.0.0.1:1/")
            #expect(result.error.contains("config.toml:2: transfers.ca_file: \(value): \(reason)"), "\(result.error)")
        }
        try home.configure("[transfers]\nca_file = \"ca.pem\"\n")
        #expect(try await home.run("subscribe", "http://127.0.0.1:1/").error.contains("expected an absolute path"))
    }
}
