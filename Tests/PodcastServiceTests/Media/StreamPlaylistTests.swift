import Testing
import Transfers

@testable import PodcastService

/// The check of the playlist of a stream (HTTP Live Streaming).
@Suite struct StreamPlaylistTests {
    private static let base = "https://x.example/show/live.m3u8?token=1"

    /// Returns the error that rejects a playlist; `nil` if it is accepted.
    private func refusal(
        _ text: String, space: AddressSpace? = .public, reach: ReachPolicy = ReachPolicy()
    ) -> TransferError? {
        do throws(TransferError) {
            try StreamPlaylist(base: Self.base, reach: reach, space: space).check(Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\nseg0.ts\n#EXT-X-ENDLIST\n",
        "\u{FEFF}#EXTM3U\r\n\r\n#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS=\"mp4a.40.2\"\r\n../low/a.m3u8\r\n",
        "#EXTM3U x-tvg-url=\"\"\n#EXT-X-MAP:URI=\"init.mp4\",BYTERANGE=\"600@0\"\n#EXTINF:1,\n//cdn.example/1.m4s",
        "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"https://keys.example/1\",IV=0x1\n#EXTINF:1,data:,x\n1.ts\n",
        "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"file:,URI\",URI=\"a.m3u8\"\n# data:comment\nv.m3u8\n",
    ])
    func playlistsOfStreamsAreAccepted(text: String) {
        #expect(refusal(text) == nil)
    }

    @Test(arguments: [
        "file:///etc/passwd", "data:text/plain,x", "concat:a.ts|b.ts", "crypto+http://x.example/1.ts",
        "ftp://x.example/1",
        "javascript:alert(1)", "rtmp://x.example/1", "\tFILE:/etc/passwd",
    ])
    func onlyAddressesOfTheWebAreAllowed(address: String) throws {
        for text in [
            "#EXTM3U\n#EXTINF:1,\n\(address)\n", "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(address)\"\n1.ts\n",
        ] {
            let error = try #require(refusal(text))
            #expect(error.message.hasPrefix("the playlist of the stream has an address that is not http"))
        }
    }

    @Test(arguments: ["URI", "KEYURI", "X-ASSET-URI", "X-ASSET-LIST", "SERVER-URI"])
    func everyAddressOfATagIsChecked(name: String) {
        #expect(refusal("#EXTM3U\n#EXT-X-ANY:A=1,B=\"x,y=\",\(name)=\"file:/etc/passwd\",C=2\n1.ts\n") != nil)
        #expect(refusal("#EXTM3U\n#EXT-X-ANY:\(name)=file:/etc/passwd,C=2\n1.ts\n") != nil)
    }

    @Test(arguments: [
        ("", "is empty"), ("\n\n", "is empty"), ("#EXTM3U\n", "no address"),
        ("#EXTM3U\n#EXT-X-ENDLIST\n", "no address"),
        ("<!DOCTYPE html><html>", "other than the playlist"), ("seg0.ts\n#EXTM3U\n", "other than the playlist"),
        ("#EXTM3U8\nseg0.ts\n", "other than the playlist"), ("[playlist]\nFile1=x\n", "other than the playlist"),
        ("\0\0\0 ftypmp42", "other than the playlist"),
    ])
    func anythingButAPlaylistIsRefused(text: String, reason: String) throws {
        let error = try #require(refusal(text))
        #expect(error.code == .unusable && error.message.contains(reason), "\(error)")
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080/x.ts", AddressSpace.public, false), ("http://localhost/x.ts", .public, false),
        ("http://192.168.1.1/x.ts", .public, false), ("http://[::1]/x.ts", .local, false),
        ("http://user@10.0.0.1/x.ts", .public, false), ("http://192.168.1.1/x.ts", .local, true),
        ("http://127.0.0.1/\u{301}x.ts", .public, false), ("http://127.0.0.1/x.ts", .loopback, true),
        ("https://8.8.8.8/x.ts", .public, true),
    ])
    func aPlaylistMayNotLeadToAMorePrivateNetwork(address: String, space: AddressSpace, isAllowed: Bool) {
        let text = "#EXTM3U\n#EXTINF:1,\n\(address)\n"
        #expect(refusal(text, space: space)?.code == (isAllowed ? nil : .outOfReach))
        #expect(refusal(text, space: nil) == nil)
        var reach = ReachPolicy()
        reach.exceptions = ["127.0.0.1", "localhost", "192.168.0.0/16", "::1", "10.0.0.0/8"].compactMap {
            ReachPolicy.Exception($0)
        }
        #expect(refusal(text, space: space, reach: reach) == nil)
    }
}
