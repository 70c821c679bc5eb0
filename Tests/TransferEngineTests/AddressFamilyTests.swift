import TestSupport
import Testing

@testable import Transfers

/// A host with addresses of both families, only one of which answers.
struct AddressFamilyTests {
    @Test(arguments: ["127.0.0.1", "::1"]) func theFamilyThatAnswersIsUsed(address: String) async throws {
        let server = HTTPTestServer(address: address)
        try server.start()
        let port = server.port
        let content = TestContent(seed: 4, size: 50_000)
        server.serve("/1.mp3", Resource(content, etag: "\"v\""))
        let bench = try EngineBench { $0.network.resolved = { ["host.example:\(port):[::1],127.0.0.1"] } }
        bench.know(DownloadSource(key: 1, url: "http://host.example:\(port)/1.mp3", generation: 1))
        #expect(try await bench.open(1).total == 50_000)
        try await bench.download(1, content)
    }
}
