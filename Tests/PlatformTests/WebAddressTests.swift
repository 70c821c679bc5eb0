import Platform
import Testing

/// The parts of web addresses, and the addresses that are refused.
struct WebAddressTests {
    @Test(arguments: [
        ("https://Example.org/feed", "example.org/feed"),
        ("http://example.org:80/feed/", "example.org/feed"),
        ("https://example.org:443/feed#top", "example.org/feed"),
        ("https://example.org:8443/feed?a=1", "example.org:8443/feed?a=1"),
        ("http://example.org:443/", "example.org:443"),
        ("https://user:pass@example.org./a%2fb%3A", "example.org/a%2Fb%3A"),
        ("http://[2001:DB8::1]:8080/x?", "[2001:db8::1]:8080/x"),
        ("https://example.org?q=%c3%a4", "example.org?q=%C3%A4"),
        ("https://exämple.org:/feed", "exämple.org/feed"),
        ("http://127.1/feed", "127.0.0.1/feed"),
        // A delimiter before a combining character is a delimiter.
        ("https://example.org/\u{301}a?\u{FE0F}b#\u{301}c", "example.org/\u{301}a?\u{FE0F}b"),
    ])
    func theKeyOmitsInsignificantParts(text: String, key: String) throws {
        let address = try WebAddress(text)
        #expect(address.key == key)
        #expect(address.text == text)
    }

    @Test(
        arguments: [
            ("https://Example.com/feed?x=https://other.example/", "https://example.com:443"),
            ("HTTP://u:p@example.com", "http://example.com:80"), ("https://[::1]", "https://[::1]:443"),
            ("http://example.com:8080/x", "http://example.com:8080"), ("https://[::1]:444/", "https://[::1]:444"),
            ("https://example.com:/x", "https://example.com:443"), ("http://0x7f.1/", "http://127.0.0.1:80"),
            ("https://example.com/a@b:c", "https://example.com:443"), ("http://x?\\@y/", "http://x:80"),
        ])
    func theOriginIsSchemeHostAndPort(text: String, origin: String) {
        #expect(WebAddress.origin(of: text) == origin)
    }

    @Test(
        arguments: [
            ("", .scheme), ("feed", .scheme), ("ftp://example.org/feed", .scheme), ("https:example.org", .scheme),
            ("file:///etc/passwd", .scheme), ("javascript://example.org/%0aalert(1)", .scheme),
            ("https://", .scheme), ("https:///path", .host), ("https://:80/", .host), ("https://user@/", .host),
            ("https://exa<mple.org/", .host), ("https://[::1/", .host), ("https://../", .host),
            ("https://a%2fb/", .host), ("https://example.org／x/", .host), ("http://[::1%25lo]/", .host),
            ("http://[::1]x/", .host), ("http://[1.2.3.4]/", .host),
            ("https://example.org:0/", .port), ("https://example.org:65536/", .port), ("https://a:b:c/", .port),
            ("https://example.org:8x/", .port), ("https://example.org:080000/", .port),
            ("https://example.org/a b", .control), ("https://example.org/a\nb", .control),
            ("https://example.org/\u{85}", .control), ("https://example.org/\u{202E}gpj", .control),
            ("https://exam\u{0}ple.org/", .control),
            ("https://example.org\\@other.org/", .backslash), ("http://a\\\\@b/", .backslash),
            ("http://a/b\\c", .backslash), ("https://a@b@example.com:443/", .at),
            ("https://a[b]@example.org/", .userInfo), ("https://%0aa@example.org/", .userInfo),
            ("https://a\"b@example.org/", .userInfo),
        ] as [(String, WebAddress.Problem)])
    func addressesThatProgramsReadDifferentlyAreRefused(text: String, problem: WebAddress.Problem) {
        #expect(throws: problem) { try WebAddress(text) }
    }

    @Test func anAddressOfMoreThan16KiBIsRefused() {
        let root = "https://example.org/"
        #expect(WebAddress.isValid(root + String(repeating: "a", count: WebAddress.longest - root.utf8.count)))
        #expect(WebAddress.problem(with: root + String(repeating: "a", count: WebAddress.longest)) == .length)
    }

    @Test func userInfoIsUnescapedAndRemoved() throws {
        let address = try WebAddress("HTTP://m%40e:p%C3%A4ss:w@Example.org:8080/feed")
        #expect(address.host == "example.org" && address.port == 8080 && !address.isSecure)
        #expect(try #require(address.userInfo) == ("m@e", "päss:w"))
        #expect(address.withoutUserInfo == "HTTP://Example.org:8080/feed")
        #expect(address.with(user: "a@b", password: "") == "HTTP://a%40b@Example.org:8080/feed")
        #expect(try WebAddress("http://example.org/a@b").userInfo == nil)
        #expect(WebAddress.host(of: "https://Feeds.Example.org/x") == "feeds.example.org")
        #expect(WebAddress.host(of: "no address") == "no address")
    }

    @Test func anHTTPAddressIsSecuredUnlessItNamesAPort() throws {
        #expect(try WebAddress("http://example.org/a?b").secured?.text == "https://example.org/a?b")
        #expect(try WebAddress("https://example.org/a").secured?.text == "https://example.org/a")
        #expect(try WebAddress("http://example.org:8080/a").secured == nil)
    }

    @Test(
        arguments: [
            ("/b", "https://h/b"), ("c?d#e", "https://h/a/c?d"), ("//other/x", "https://other/x"),
            ("http://u@o/x y", "http://u@o/x%20y"), ("/\\@x/", nil), ("//h\\@x/", nil), ("ftp://x/", nil),
            ("file:///etc/passwd", nil),
            ("javascript:alert(1)", nil),
        ] as [(String, String?)])
    func locationsAreResolved(reference: String, result: String?) throws {
        #expect(try WebAddress("https://h/a/b").resolving(reference)?.text == result)
    }

    @Test(arguments: [
        ("https://u:secret@h/a?token=1#x", "https://h/a"), ("https://h/a?b@c", "https://h/a?b@c"),
        // Text that is not an address: everything before the last @ could be a secret.
        ("https://u:se/cret@h/a", "https://h/a"), ("https://u:sec\\ret@h/a", "https://h/a"),
        ("https://a@b:secret@h/a?t", "https://h/a"), ("u@h", "u@h"),
    ])
    func secretsAreNotShown(text: String, visible: String) {
        #expect(WebAddress.redacted(text) == visible)
    }
}
