import PodcastService
import Testing

struct FeedAddressTests {
    @Test(arguments: [
        ("https://Example.org/feed", "example.org/feed"),
        ("http://example.org:80/feed/", "example.org/feed"),
        ("https://example.org:443/feed#top", "example.org/feed"),
        ("https://example.org:8443/feed?a=1", "example.org:8443/feed?a=1"),
        ("http://example.org:443/", "example.org:443"),
        ("https://user:pass@example.org./a%2fb%3A", "example.org/a%2Fb%3A"),
        ("https://user:p@ss@example.org/", "example.org"),
        ("http://[2001:DB8::1]:8080/x?", "[2001:db8::1]:8080/x"),
        ("https://example.org?q=%c3%a4", "example.org?q=%C3%A4"),
        ("https://exämple.org:/feed", "exämple.org/feed"),
        // A delimiter before a combining character is a delimiter.
        ("https://example.org/\u{301}a?\u{FE0F}b#\u{301}c", "example.org/\u{301}a?\u{FE0F}b"),
        ("https://user@\u{301}example.org:443/", "\u{301}example.org"),
    ])
    func theKeyOmitsInsignificantParts(text: String, key: String) throws {
        let address = try #require(FeedAddress(text))
        #expect(address.key == key)
        #expect(address.text == text)
    }

    @Test(arguments: [
        "", "feed", "ftp://example.org/feed", "feed://example.org/", "https://", "https:///path", "https://:80/",
        "https://user@/", "https://example.org:0/", "https://example.org:65536/", "https://example.org:8x/",
        "https://example.org/a b", "https://example.org/a\nb", "https://example.org\\@other.org/",
        "https://example.org/\u{202E}gpj", "https://exa<mple.org/", "https://[::1/", "https:example.org",
        "file:///etc/passwd", "javascript://example.org/%0aalert(1)", "https://a:b:c/",
    ])
    func unusableAddressesAreRefused(text: String) {
        #expect(FeedAddress(text) == nil)
    }

    @Test func anAddressOfMoreThan16KiBIsRefused() {
        let root = "https://example.org/"
        #expect(FeedAddress(root + String(repeating: "a", count: 16_384 - root.count)) != nil)
        #expect(FeedAddress(root + String(repeating: "a", count: 16_385 - root.count)) == nil)
    }

    @Test func hostPortAndUserInfoAreParsed() throws {
        let address = try #require(FeedAddress("HTTP://me@Example.org:8080/feed"))
        #expect(address.host == "example.org" && address.port == 8080)
        #expect(address.hasUserInfo && !address.isSecure)
        #expect(FeedAddress.host(of: "https://Feeds.Example.org/x") == "feeds.example.org")
        #expect(FeedAddress.host(of: "no address") == "no address")
    }

    @Test func anHTTPAddressIsSecuredUnlessItNamesAPort() {
        #expect(FeedAddress("http://example.org/a?b")?.secured?.text == "https://example.org/a?b")
        #expect(FeedAddress("https://example.org/a")?.secured?.text == "https://example.org/a")
        #expect(FeedAddress("http://example.org:8080/a")?.secured == nil)
    }
}
