import SystemPackage
import TestSupport
import Testing

@testable import Transfers

/// Downloads of files that have several sources, or a hash in the feed, from servers that misbehave.
@Suite struct SourceTests {
    private let content = TestContent(seed: 61, size: 300_000)
    private var resource: Resource { Resource(content, etag: "\"v1\"") }

    /// Adds a file with a source at each of these paths to the bench.
    private func know(_ bench: EngineBench, _ paths: String..., hashes: [FileHash?] = []) {
        var source = DownloadSource(key: 1, url: bench.server.url(paths[0]), generation: 1)
        source.setLocations(
            paths.enumerated().map { index, path in
                .init(url: bench.server.url(path), hash: hashes.indices.contains(index) ? hashes[index] : nil)
            })
        bench.know(source)
    }

    private func hash(_ algorithm: FileHash.Algorithm, of content: TestContent) throws -> FileHash {
        let folder = try TemporaryDirectory()
        let file = try ContentCache(directory: .init(folder.file("c"))).create(size: Int64(content.size))
        try content.bytes.withUnsafeBytes { try file.write($0, at: 0) }
        return FileHash(algorithm: algorithm, digests: ["00", try file.digest(algorithm, size: Int64(content.size))])
    }

    @Test(arguments: [404, 410, 403]) func aRefusedAddressIsFollowedByTheNext(status: Int) async throws {
        let bench = try EngineBench { $0.limits.renewsAddress = true }
        bench.server.serve("/main.mp3", resource) { _ in .status(status) }
        bench.server.serve(
            "/page.mp3", Resource(text: "<!DOCTYPE html><html><body>Gone</body></html>", contentType: "audio/mpeg"))
        bench.server.serve("/mirror.mp3", resource)
        know(bench, "/main.mp3", "/page.mp3", "/mirror.mp3")
        #expect(try await bench.read(1, 0..<10) == content.bytes(in: 0..<10))
        try await bench.download(1, content)
        #expect(bench.failures.isEmpty && bench.refusals.isEmpty)
        #expect(bench.server.requests(for: "/main.mp3").count == 1)
    }

    @Test func aDownloadContinuesAtTheNextSource() async throws {
        let bench = try EngineBench()
        let big = TestContent(seed: 62, size: 4_000_000)
        bench.server.serve("/main.mp3", Resource(big, etag: "\"a\"")) { request in
            request.index == 0 ? .close(after: 1_000_000) : .status(410)
        }
        bench.server.serve("/mirror.mp3", Resource(big, etag: "\"b\""))
        know(bench, "/main.mp3", "/mirror.mp3")
        try await bench.download(1, big)
        #expect(bench.source(1)?.generation == 1, "its bytes agree with the present ones")
        #expect(bench.server.requests(for: "/mirror.mp3").map(\.range) == [.closed(1_000_000 - 65_536, 3_999_999)])
    }

    // MARK: Hashes

    @Test(arguments: FileHash.Algorithm.allCases + [nil])
    func aFileIsVerifiedIfItHasTheListedHash(algorithm: FileHash.Algorithm?) async throws {
        let bench = try EngineBench()
        bench.server.serve("/a.mp3", resource)
        know(bench, "/a.mp3", hashes: [try algorithm.map { try hash($0, of: content) }])
        try bench.fill(1)
        try await bench.waitUntilWhole(1)
        #expect(bench.completed[1]?.isVerified == (algorithm != nil))
    }

    @Test func aFileWithAnotherHashFailsAndLeavesNothing() async throws {
        let bench = try EngineBench()
        bench.server.serve("/a.mp3", resource)
        know(bench, "/a.mp3", hashes: [FileHash(algorithm: .sha256, digests: [String(repeating: "0", count: 64)])])
        try bench.fill(1)
        try await bench.wait("the download has failed") { bench.failures.count == 1 }
        #expect(bench.failures == [DownloadSource.mismatch])
        #expect(bench.completed[1] == nil && bench.source(1)?.file == nil && bench.source(1)?.generation == 2)
        #expect(try await bench.snapshot(1)?.state == .failed)
    }

    @Test func aFileWithAnotherHashIsReplacedByTheNextSources() async throws {
        let bench = try EngineBench()
        bench.server.serve("/tampered.mp3", Resource(TestContent(seed: 63, size: 300_000), etag: "\"t\""))
        bench.server.serve("/good.mp3", resource)
        let hash = try hash(.sha512, of: content)
        know(bench, "/tampered.mp3", "/good.mp3", hashes: [hash, hash])
        try await bench.download(1, content)
        #expect(bench.completed[1]?.isVerified == true && bench.failures.isEmpty)
    }

    @Test func theHashOfAnotherLocationCanVerifyButNotRefuteAFile() throws {
        let known = FileHash(algorithm: .sha256, digests: ["aa"])
        func check(_ hashes: [FileHash?], current: Int, _ digest: String) -> Bool? {
            var source = DownloadSource(key: 1, url: "u", generation: 1)
            source.setLocations(hashes.map { .init(url: "u", hash: $0) })
            return source.isVerified(from: current) { _ in digest }
        }
        #expect(check([known, nil], current: 0, "aa") == true)
        #expect(check([known, nil], current: 0, "bb") == false)
        #expect(check([known, nil], current: 1, "bb") == nil)
        #expect(check([nil], current: 0, "bb") == nil)
        let other = FileHash(algorithm: .sha512, digests: ["bb"])
        #expect(check([known, other], current: 0, "bb") == true, "as after a restart")
        #expect(FileHash(known.description) == known)
        for text in ["", "sha256", "md5-aa", "sha256-aa sha512-bb"] { #expect(FileHash(text) == nil, "\(text)") }
    }
}
