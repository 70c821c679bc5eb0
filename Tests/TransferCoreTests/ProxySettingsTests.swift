import Testing

@testable import Transfers

/// The choice of a proxy from environment variables, as libcurl makes it.
struct ProxySettingsTests {
    private func proxy(_ environment: [String: String], _ scheme: String, _ host: String) -> String? {
        ProxySettings { environment[$0] }.proxy(isSecure: scheme == "https", host: host).map { "\($0.host) \($0.port)" }
    }

    @Test func eachSchemeHasItsVariable() {
        let both = ["http_proxy": "http://web.example:8080", "https_proxy": "tls.example:3128/"]
        #expect(proxy(both, "http", "a.example") == "web.example 8080")
        #expect(proxy(both, "https", "a.example") == "tls.example 3128")
        #expect(proxy(["all_proxy": "socks5h://[::1]:9050"], "http", "a.example") == "[::1] 9050")
        #expect(proxy(["ALL_PROXY": "any.example"], "https", "a.example") == "any.example 1080")
        #expect(proxy(["all_proxy": "any.example", "http_proxy": ""], "http", "a.example") == "any.example 1080")
        #expect(proxy(["HTTPS_PROXY": "https://me:secret@tls.example"], "https", "a.example") == "tls.example 443")
        #expect(proxy(["HTTP_PROXY": "web.example:80"], "http", "a.example") == nil, "CGI requests can set it")
        #expect(proxy([:], "https", "a.example") == nil)
        #expect(proxy(["http_proxy": "web.example:none"], "http", "a.example") == nil)
    }

    @Test(arguments: [
        ("*", "a.example", true), ("example", "a.example", true), (".a.example", "a.example", true),
        ("a.example.", "A.Example", true), ("b.example, a.example", "www.a.example", true),
        ("b.example a.example", "a.example.", true), ("a.example", "nota.example", false), ("", "a.example", false),
        ("10.0.0.0/8", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("10.1.2.3", "10.1.2.3", true),
        ("2.3", "10.1.2.3", false), ("::1", "[::1]", true), ("fd00::/8", "[fd12::1]", true),
        ("fd00::/8", "[2001:db8::1]", false), (",,", "a.example", false), ("*,b", "a.example", false),
    ]) func hostsAreExcepted(list: String, host: String, isDirect: Bool) {
        let isReached = proxy(["http_proxy": "p.example:1", "no_proxy": list], "http", host) == nil
        #expect(isReached == isDirect)
    }
}
